"""The Spark job that the playground writes finds what the page shows."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ensue.play.start import examples
from ensue.play.worker import answer


def test_exported_job_finds_the_same(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    example = examples()[14]  # conditions, partitions, computed columns
    monkeypatch.chdir(tmp_path)
    texts = answer({"kind": "export", **example})
    # Spark knows its own folder only.
    path = tmp_path / texts["events"]
    path.write_text(texts["text"])
    job = texts["spark"].replace(repr(texts["events"]), repr(str(path)))
    names: dict[str, object] = {}
    exec(compile(job, "job", "exec"), names)
    found = names["found"].collect()  # type: ignore[attr-defined]
    assert [row["gain"] for row in found] == [1.5]
    assert answer({"kind": "matches", **example})["count"] == str(len(found))
