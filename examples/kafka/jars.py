"""Fetch jars from a Maven repository, once, with the Ivy that comes with PySpark.

Spark's own `spark.jars.packages` does the same for a job. It is not used here because the broker
needs jars too, and because a mirror may lack one module of a release: `published` takes the newest
version that is there.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import urlopen
from xml.sax.saxutils import quoteattr

import pyspark

from ensue.spark.java import cache_folder, java_home

CENTRAL = "https://repo1.maven.org/maven2"
"""Maven Central; the environment variable ENSUE_MAVEN may name a mirror instead."""


class JarsError(RuntimeError):
    """Jars cannot be had."""


class UnreachableError(JarsError):
    """There is no way to the repository."""


@dataclass(frozen=True, slots=True)
class Module:
    """A module of a Maven repository."""

    group: str
    name: str
    version: str
    alone: bool = False
    """Whether to leave out what the module depends on."""


Modules = Callable[[], Sequence[Module]]


def fetch(folder: str, modules: Modules, *, beside_spark: bool = False) -> list[Path]:
    """Return the jars of some modules and of all they depend on.

    They are kept in a folder of Ensue's cache that appears only when it is complete, so a second
    call needs no network. A module that another one depends on has the version given here.

    Args:
        folder: what to call the folder, with all that the choice of modules depends on.
        modules: called when the jars are not there yet.
        beside_spark: leave out what the installed Spark has already.
    """
    goal = cache_folder() / "jars" / folder
    if not goal.is_dir():
        goal.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=goal.parent) as name:
            draft = Path(name)
            _retrieve(modules(), draft, _names_in_spark() if beside_spark else [])
            try:
                (draft / "jars").rename(goal)
            except OSError:
                if not goal.is_dir():  # else somebody else was faster
                    raise
    return sorted(goal.glob("*.jar"))


def published(group: str, name: str, newest: str) -> str:
    """Return the newest released version of a module up to one, as the repository lists them."""
    address = f"{repository()}/{group.replace('.', '/')}/{name}/maven-metadata.xml"
    try:
        with urlopen(address, timeout=60) as answer:
            listed = re.findall(r"<version>([0-9.]+)</version>", answer.read().decode())
    except HTTPError as error:
        raise JarsError(f"{address} answers {error.code} {error.reason}") from error
    except (URLError, TimeoutError) as error:
        raise UnreachableError(f"no Maven repository at {repository()}: {error}") from error
    fitting = [each for each in listed if _numbers(each) <= _numbers(newest)]
    if not fitting:
        raise JarsError(f"{address} lists no version of {name} up to {newest}")
    return max(fitting, key=_numbers)


def repository() -> str:
    """Return the address of the repository."""
    return (os.environ.get("ENSUE_MAVEN") or CENTRAL).rstrip("/")


def java() -> str:
    """Return the java command that Spark would take."""
    home = java_home() or os.environ.get("JAVA_HOME")
    return str(Path(home) / "bin" / "java") if home else "java"


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(each) for each in version.split("."))


def _names_in_spark() -> list[str]:
    """Return the modules whose jars come with Spark: what stands before the version."""
    return sorted({re.split(r"-\d", each.name)[0] for each in _spark_jars().glob("*.jar")})


def _spark_jars() -> Path:
    return Path(pyspark.__file__).parent / "jars"


def _retrieve(modules: Sequence[Module], folder: Path, excluded: Iterable[str]) -> None:
    ivy = next(_spark_jars().glob("ivy-*.jar"), None)
    if ivy is None:
        raise JarsError(f"there is no Ivy in {_spark_jars()} to fetch jars with")
    # Asked first, because Ivy says "not found" of whatever it cannot reach.
    published(modules[0].group, modules[0].name, modules[0].version)
    (folder / "settings.xml").write_text(_settings(), encoding="utf-8")
    (folder / "ivy.xml").write_text(_description(modules, excluded), encoding="utf-8")
    done = subprocess.run(
        [
            *[java(), "-jar", ivy, "-settings", folder / "settings.xml"],
            *["-ivy", folder / "ivy.xml", "-cache", folder / "ivy", "-confs", "default"],
            *["-types", "jar", "bundle"],
            *["-retrieve", folder / "jars" / "[artifact]-[revision].[ext]"],
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0 or not (folder / "jars").is_dir():
        wrong = re.findall(r":: (\S+#\S+: .*?)\s*$", done.stdout, re.MULTILINE)
        reason = "; ".join(wrong) or (done.stdout + done.stderr)[-2000:]
        raise JarsError(f"cannot fetch jars from {repository()}: {reason}")
    shutil.rmtree(folder / "ivy")


def _settings() -> str:
    return f"""\
<ivysettings>
  <settings defaultResolver="maven"/>
  <resolvers><ibiblio name="maven" m2compatible="true" root={quoteattr(repository())}/></resolvers>
</ivysettings>
"""


def _description(modules: Sequence[Module], excluded: Iterable[str]) -> str:
    wanted = [
        f"<dependency org={quoteattr(each.group)} name={quoteattr(each.name)} "
        f'rev={quoteattr(each.version)} conf="default" transitive="{str(not each.alone).lower()}"/>'
        for each in modules
    ]
    left_out = [f"<exclude module={quoteattr(each)}/>" for each in excluded]
    forced = [
        f"<override org={quoteattr(each.group)} module={quoteattr(each.name)} "
        f"rev={quoteattr(each.version)}/>"
        for each in modules
    ]
    lines = "\n    ".join([*wanted, *left_out, *forced])
    return f"""\
<ivy-module version="2.0">
  <info organisation="ensue" module="jars"/>
  <configurations><conf name="default"/></configurations>
  <dependencies>
    {lines}
  </dependencies>
</ivy-module>
"""
