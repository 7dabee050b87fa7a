"""The code on the page of pipelines is the code that the tests on Spark run."""

from __future__ import annotations

from pathlib import Path

from tests.docs.test_docs import blocks

ROOT = Path(__file__).parents[2]


def test_the_page_shows_lines_of_the_examples() -> None:
    page = (ROOT / "docs" / "pipelines.md").read_text(encoding="utf-8")
    files = [ROOT / "examples" / name for name in ("kafka/job.py", "lake/merge.py")]
    sources = [each.read_text(encoding="utf-8") for each in files]
    shown = [each for each in blocks(page) if each.kind == "python"]
    assert len(shown) > 5
    for block in shown:
        assert any(block.text in source for source in sources), f"docs/pipelines.md:{block.line}"


def test_the_versions_of_the_page_are_those_of_the_tests() -> None:
    page = (ROOT / "docs" / "pipelines.md").read_text(encoding="utf-8")
    tested = (ROOT / "tests" / "spark" / "test_lakes.py").read_text(encoding="utf-8")
    found = [line for line in tested.splitlines() if line.startswith("SPARK, DELTA, ICEBERG")]
    spark, delta, iceberg = (each.strip(' "') for each in found[0].partition("=")[2].split(","))
    line = spark.rpartition(".")[0]
    assert f"io.delta:delta-spark_{line}_2.13:{delta}" in page
    assert f"org.apache.iceberg:iceberg-spark-runtime-{line}_2.13:{iceberg}" in page
