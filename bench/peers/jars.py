"""Fetch and compile what the engines in Java need, once, into Ensue's cache."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from ensue.spark.java import cache_folder
from examples.kafka.jars import Module, fetch

FLINK, ESPER, SIDDHI = "2.3.0", "9.0.0", "5.1.30"

MODULES = {
    "Flink": (
        Module("org.apache.flink", "flink-cep", FLINK),
        Module("org.apache.flink", "flink-streaming-java", FLINK),
        Module("org.apache.flink", "flink-clients", FLINK),
    ),
    "Esper": (
        Module("com.espertech", "esper-runtime", ESPER),
        Module("com.espertech", "esper-compiler", ESPER),
    ),
    # Its own list names modules that Maven Central does not have.
    "Siddhi": tuple(
        Module(group, name, version, alone=True)
        for group, name, version in (
            *(
                ("io.siddhi", f"siddhi-{part}", SIDDHI)
                for part in ("core", "query-api", "query-compiler", "annotations")
            ),
            ("com.lmax", "disruptor", "3.4.4"),
            ("org.antlr", "antlr4-runtime", "4.11.1"),
            ("org.mvel", "mvel2", "2.4.15.Final"),
            ("com.google.guava", "guava", "33.0.0-jre"),
            ("com.google.code.gson", "gson", "2.10.1"),
            ("org.quartz-scheduler", "quartz", "2.3.2"),
            ("io.dropwizard.metrics", "metrics-core", "3.1.0"),
            ("org.atteo.classindex", "classindex", "3.9"),
            ("org.apache.logging.log4j", "log4j-api", "2.22.1"),
            ("org.osgi", "org.osgi.core", "6.0.0"),
            ("org.slf4j", "slf4j-api", "1.7.36"),
        )
    ),
}
VERSIONS = {"Flink": FLINK, "Esper": ESPER, "Siddhi": SIDDHI}
SOURCES = Path(__file__).parent / "java"


class NoCompilerError(RuntimeError):
    """There is no javac."""


def class_path(engine: str) -> str:
    """Return the class path of an engine's driver, which is compiled if it is not yet."""
    jars = fetch(f"peers-{engine.lower()}-{VERSIONS[engine]}", lambda: MODULES[engine])
    libraries = os.pathsep.join(map(str, jars))
    sources = [SOURCES / "Trades.java", SOURCES / f"{engine}Peer.java"]
    text = "".join(each.read_text(encoding="utf-8") for each in sources) + libraries
    folder = cache_folder() / "peers" / f"{engine}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    if not folder.is_dir():
        compiler = shutil.which("javac")
        if compiler is None:
            raise NoCompilerError("the engines in Java need a JDK: there is no javac on the path")
        draft = folder.with_name(f"{folder.name}.{os.getpid()}")
        command = [compiler, "-nowarn", "-cp", libraries, "-d", draft, *sources]
        subprocess.run(command, check=True)
        draft.rename(folder)
    return f"{folder}{os.pathsep}{libraries}"
