"""`python -m bench`: run benchmarks, print their tables, keep their results."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console

from bench import (
    aggregation,
    conditions,
    deadlines,
    distinct,
    enumeration,
    files,
    growth,
    hostile,
    inner_windows,
    memory,
    operators,
    ordered,
    page,
    partitions,
    refused,
    results,
    sequences,
    sessions,
    spark,
    spark_steps,
    stages,
    startup,
    strategies,
    stream_designs,
    threads,
    windows,
)
from bench.lab import laboratory
from bench.machine import facts, sources
from bench.pace import MINUTES, Pace
from bench.tables import Group, Target, show, show_targets

GROUPS: tuple[Group, ...] = (
    startup.GROUP,
    sequences.GROUP,
    windows.GROUP,
    strategies.GROUP,
    inner_windows.GROUP,
    operators.GROUP,
    partitions.GROUP,
    threads.GROUP,
    deadlines.GROUP,
    conditions.GROUP,
    ordered.GROUP,
    distinct.GROUP,
    enumeration.LISTING,
    enumeration.COUNTING,
    aggregation.GROUP,
    refused.GROUP,
    memory.WINDOW_GROUP,
    growth.READER_GROUP,
    files.GROUP,
    sessions.STEPS_GROUP,
    sessions.MANY_GROUP,
    sessions.THOUSAND_GROUP,
    growth.SESSION_GROUP,
    spark.BATCH_GROUP,
    spark_steps.GROUP,
    spark.STREAM_GROUP,
    stream_designs.GROUP,
    hostile.GROUP,
    stages.GROUP,
)
_WIDE = 160
"""How wide tables are where nobody says how wide the page is."""

NAMES = [group.name for group in GROUPS]


def run(names: Sequence[str], quick: bool, path: Path, minutes: float = MINUTES) -> None:
    """Run some groups, show them, and put their results into a file."""
    console = Console()
    if not console.is_terminal:
        console.width = _WIDE
    about: dict[str, Any] = facts()
    console.print(", ".join(f"{name} {value}" for name, value in about.items()), style="dim")
    every: list[Target] = []
    chosen = [group for group in GROUPS if group.name in names]
    pace = Pace(minutes, len(chosen))
    left_out = []
    with console.status("") as status, laboratory(quick, status, pace) as lab:
        lab.warm_up()
        for group in chosen:
            if pace.is_over:
                left_out.append(group.name)
                continue
            begun = pace.elapsed
            rows = group.measure(lab)
            pace.done += 1
            targets = group.targets(rows)
            every += targets
            show(console, group, rows)
            if sources() != about["sources"]:
                lab.warn("the sources were changed while they were measured")
                about = {**facts(), "commit": "sources changed during the run"}
            # After every group, so that an interrupted run has not been for nothing.
            kept = results.load(path)
            kept[group.name] = {
                "facts": about,
                "quick": quick,
                "minutes": round(pace.elapsed - begun, 2),
                "rows": rows,
                "targets": [asdict(target) for target in targets],
            }
            results.save(path, {name: kept[name] for name in NAMES if name in kept})
    console.print(f"\n{pace.elapsed:.0f} minutes")
    if left_out:
        console.print(f"not measured, the time was over: {', '.join(left_out)}", style="yellow")
    if not every:
        return
    met = sum(target.met for target in every)
    console.print(f"\n{met} of {len(every)} targets are met", style="bold")
    show_targets(console, [target for target in every if not target.met])


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"what to run: {', '.join(NAMES)}; or all")
    parser.add_argument("--quick", action="store_true", help="shorter streams, fewer repetitions")
    parser.add_argument(
        "--minutes",
        type=float,
        default=MINUTES,
        metavar="N",
        help=f"how long all of it may take, {MINUTES:.0f} unless said otherwise: what falls behind "
        "is repeated less often, and what does not fit is named",
    )
    parser.add_argument(
        "--designs",
        action="store_true",
        help="with streaming: compare ways to keep the state instead",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="where to keep the results")
    parser.add_argument(
        "--docs", action="store_true", help="run nothing; put the results into the documentation"
    )
    asked = parser.parse_args()
    if asked.designs:
        if asked.names != [spark.STREAM_GROUP.name]:
            parser.error("--designs goes with the benchmark streaming")
        asked.names = [stream_designs.GROUP.name]
    unknown = [name for name in asked.names if name not in NAMES]
    if unknown:
        parser.error(f"no benchmark '{unknown[0]}'; there are {', '.join(NAMES)}")
    path = asked.json or results.path_of(asked.quick)
    if not asked.docs:
        run(asked.names or NAMES, asked.quick, path, asked.minutes)
        return
    # Where there is no full run of a group, a quick one has to do.
    kept = {**results.load(results.path_of(True)), **results.load(path)}
    if not kept:
        parser.error("no results yet; run the benchmarks first")
    for name in page.rewrite(GROUPS, kept):
        print(f"no results of '{name}' yet")


if __name__ == "__main__":
    main()
