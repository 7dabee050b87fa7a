"""What is said of kernels that have to be compiled."""

from __future__ import annotations

import sys
from pathlib import Path

import numba
import pytest

import ensue
from ensue.runtime import jit
from ensue.runtime.evaluate import evaluate


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")
def test_compiling_is_announced_where_it_happens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{"type": "A"}, {"type": "B"}]
    assert ensue.compile("SELECT * FROM S WHERE A ; B").run(rows).count == 1
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    jit.announce(evaluate)
    assert capsys.readouterr().err == "", "it was compiled just now, if not before"
    monkeypatch.setattr(jit, "FOLDER", tmp_path)
    jit.announce(evaluate)
    assert "this happens once" in capsys.readouterr().err
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False)
    jit.announce(evaluate)
    assert capsys.readouterr().err == "", "nobody is watching"
