"""A checkpoint is as large as the window, wherever blocks of the file end."""

from __future__ import annotations

from pathlib import Path

import pytest

from ensue.cli.run import checkpoint as checkpoints
from ensue.cli.run.checkpoint import Checkpoint
from tests import seams
from tests.cli.command import ensue


def test_checkpoints_follow_the_window(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("q.ceql").write_text("SELECT * FROM S WHERE A ; B WITHIN 5 SECONDS [t]")
    kinds = ("A" if n % 97 == 0 else "B" if n % 997 == 0 else "C" for n in range(30_000))
    lines = (f"{kind},{n // 200},host {n % 7}" for n, kind in enumerate(kinds))
    Path("log.csv").write_text("\n".join(["type,t,host", *lines, ""]))
    seams.CSV_BLOCK.put(monkeypatch, 10_000)
    write, sizes = checkpoints.write_checkpoint, []

    def noted(path: Path, checkpoint: Checkpoint) -> None:
        sizes.append(len(checkpoint.session))
        write(path, checkpoint)

    monkeypatch.setattr(checkpoints, "write_checkpoint", noted)
    options = ["--time-unit", "s", "--checkpoint", "run.ckpt", "--checkpoint-every", "1000"]
    outcome = ensue("run", "q.ceql", "log.csv", *options, "-o", "found.jsonl")
    assert outcome.code == 0, outcome.stderr
    assert len(sizes) > 10
    assert max(sizes) <= 1.5 * max(sizes[:4])
    assert len(Path("found.jsonl").read_text().splitlines()) > 100
