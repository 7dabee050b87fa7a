"""Run all engines on all workloads, compare their counts, and write docs/comparison.md's tables.

    make peers                                   # everything
    make peers ARGS='--engines DuckDB,Esper'     # some engines; results of the others are kept
    make peers ARGS='--docs'                     # only put the results into the page

Each run is a process of its own, with a limit of CPU seconds, wall time and memory.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.peers import jars, page
from bench.peers.engines import ENGINES
from bench.peers.workloads import WORKLOADS, Workload, make_trades

RESULTS = Path(__file__).parents[1] / "results" / "peers.json"
MEMORY = 12 << 30
"""Bytes of address space of an engine in Python; Java has 3 GB of heap."""
_OPEN = [f"--add-opens=java.base/java.{each}=ALL-UNNAMED" for each in ("lang", "util", "time")]


def command(engine: str, files: tuple[Path, Path], workload: Workload) -> list[str]:
    """Return the command that runs an engine on a workload."""
    if engine in ENGINES:
        return [sys.executable, "-m", "bench.peers.engines", engine, str(files[0]), workload.name]
    java = ["java", "-Xmx3g", "-XX:+UseSerialGC", *_OPEN, "-cp", jars.class_path(engine)]
    return [*java, f"{engine}Peer", str(files[1]), workload.kind, str(workload.window)]


def run(engine: str, files: tuple[Path, Path], workload: Workload, cpu: int) -> dict[str, Any]:
    """Run an engine on a workload; return its count and times, or why there are none."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 5))
        if engine in ENGINES and engine != "PySpark":
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

    process = subprocess.Popen(
        command(engine, files, workload),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=limit,
    )
    try:
        out, err = process.communicate(timeout=cpu * 8)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.communicate()
        return {"failed": f"more than {cpu * 8} s of wall time"}
    last = out.strip().splitlines()[-1:]
    if last and last[0].startswith("{"):
        return json.loads(last[0])
    if process.returncode in (-24, -9, 137, 152):
        return {"failed": f"more than {cpu} s of CPU"}
    if "OutOfMemory" in err + out or "MemoryError" in err or "Out of Memory" in err:
        return {"failed": "out of memory"}
    return {"failed": (err or out).strip().splitlines()[-1][:200] if err or out else "no answer"}


def results() -> dict[str, Any]:
    """Return all results so far."""
    return json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(prog="python -m bench.peers")
    every = [*ENGINES, *jars.MODULES]
    parser.add_argument("--engines", default=",".join(every))
    parser.add_argument("--workloads", default="", help="the beginnings of their names")
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--cpu", type=int, default=60, help="the limit of a run, in seconds")
    parser.add_argument("--docs", action="store_true", help="only write the page")
    options = parser.parse_args()
    if not options.docs:
        wanted = [each for each in every if each in options.engines.split(",")]
        chosen = tuple(options.workloads.split(","))
        with tempfile.TemporaryDirectory() as folder:
            files = make_trades(options.events, Path(folder))
            for workload in WORKLOADS:
                if not workload.name.startswith(chosen):
                    continue
                for engine in wanted:
                    found = run(engine, files, workload, options.cpu)
                    found["load"] = round(os.getloadavg()[0], 1)
                    kept = results()  # another run may have written meanwhile
                    group = kept.setdefault(str(options.events), {})
                    group.setdefault(workload.name, {})[engine] = found
                    kept["when"] = f"{datetime.now(UTC):%Y-%m-%d}"
                    kept["limit"] = options.cpu
                    RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
                    print(f"{workload.name:<18} {engine:<15} {found}", flush=True)
    page.write(results())


if __name__ == "__main__":
    main()
