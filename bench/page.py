"""The tables in docs/performance.md and docs/spark.md, rewritten from results.

A block stands between `<!-- bench: NAME -->` and `<!-- end -->`; NAME is a group, `facts` or
`targets`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from bench.processes import ROOT
from bench.tables import Group, Target, markdown, markdown_targets

PAGES = (ROOT / "docs" / "performance.md", ROOT / "docs" / "spark.md")

_BLOCK = re.compile(r"(<!-- bench: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def rewrite(groups: Sequence[Group], results: Mapping[str, Any]) -> list[str]:
    """Fill all blocks of the pages; return the names of those for which there is no result."""
    blocks = {
        group.name: _table(group, results[group.name]) for group in groups if group.name in results
    }
    blocks["facts"] = _facts(results)
    blocks["targets"] = _targets(results)
    unknown: list[str] = []

    def filled(block: re.Match[str]) -> str:
        begin, name, end = block.groups()
        if name not in blocks:
            unknown.append(name)
            return block[0]
        return f"{begin}{blocks[name]}\n{end}"

    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        page.write_text(_BLOCK.sub(filled, text), encoding="utf-8")
    return unknown


def _table(group: Group, result: Mapping[str, Any]) -> str:
    rows = result["rows"]
    # A column in which nobody has anything to say is left out.
    columns = [column for column in group.columns if any(row.get(column.key) for row in rows)]
    return markdown(columns, rows)


def _facts(results: Mapping[str, Any]) -> str:
    """Say on what machine this was measured; parts from several runs are named apart."""
    runs: dict[str, list[str]] = {}
    for name, result in results.items():
        facts = result["facts"]
        told = (
            f"{facts['cpu']}, {facts['cores']} cores, {facts['memory_gb']} GB, "
            f"{facts['system']}; Python {facts['python']}, Numba {facts['numba']}, "
            f"NumPy {facts['numpy']}, pyarrow {facts['pyarrow']}; commit {facts['commit']}, "
            f"{facts['when'][:10]}"
        )
        runs.setdefault(told, []).append(name)
    if len(runs) == 1:
        return f"Measured on: {next(iter(runs))}."
    return "\n".join(f"- {', '.join(names)}: {told}" for told, names in runs.items())


def _targets(results: Mapping[str, Any]) -> str:
    targets = [Target(**each) for result in results.values() for each in result["targets"]]
    return markdown_targets(targets)
