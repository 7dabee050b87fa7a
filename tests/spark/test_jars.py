"""Jars of a Maven repository: which ones are taken, and what is said when they cannot be had."""

from __future__ import annotations

from pathlib import Path

import pytest

from examples.kafka.jars import JarsError, Module, UnreachableError, fetch, published
from tests.spark.processes import free_port


def put(repository: Path, name: str, version: str, *needs: tuple[str, str]) -> None:
    """Put a module of the group `org.some` into a repository, with a jar that has nothing in it."""
    folder = repository / "org" / "some" / name / version
    folder.mkdir(parents=True)
    wanted = "".join(
        f"<dependency><groupId>org.some</groupId><artifactId>{each}</artifactId>"
        f"<version>{number}</version></dependency>"
        for each, number in needs
    )
    (folder / f"{name}-{version}.pom").write_text(
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        f"<groupId>org.some</groupId><artifactId>{name}</artifactId><version>{version}</version>"
        f"<dependencies>{wanted}</dependencies></project>"
    )
    (folder / f"{name}-{version}.jar").write_bytes(b"PK\x05\x06" + bytes(18))
    versions = sorted(each.name for each in folder.parent.iterdir() if each.is_dir())
    listed = "".join(f"<version>{each}</version>" for each in versions)
    (folder.parent / "maven-metadata.xml").write_text(f"<versions>{listed}</versions>")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "repository"
    monkeypatch.setenv("ENSUE_MAVEN", folder.as_uri())
    monkeypatch.setenv("ENSUE_CACHE_DIR", str(tmp_path / "cache"))
    return folder


def test_the_newest_release_up_to_a_version_is_chosen(repository: Path) -> None:
    for version in ("3.9.9", "4.2.0", "4.2.10", "4.3.0-preview1", "4.10.0"):
        put(repository, "connector", version)
    assert published("org.some", "connector", "4.3.0") == "4.2.10"
    assert published("org.some", "connector", "4.2.0") == "4.2.0"
    with pytest.raises(JarsError, match=r"no version of connector up to 3\.0\.0"):
        published("org.some", "connector", "3.0.0")


def test_versions_given_win_what_spark_has_is_left_out_and_the_cache_is_used(
    repository: Path,
) -> None:
    # The repository lacks version 4.2 of what the connector needs.
    put(repository, "connector", "4.2", ("provider", "4.2"), ("py4j", "1.0"), ("pool", "2.0"))
    put(repository, "provider", "4.0")
    put(repository, "pool", "2.0")
    modules = [Module("org.some", "connector", "4.2"), Module("org.some", "provider", "4.0")]
    names = ["connector-4.2.jar", "pool-2.0.jar", "provider-4.0.jar"]
    jars = fetch("some", lambda: modules, beside_spark=True)
    assert [each.name for each in jars] == names
    assert fetch("some", lambda: pytest.fail("they are there already")) == jars


def test_a_module_that_is_missing_is_named(repository: Path) -> None:
    put(repository, "connector", "4.2", ("provider", "4.2"))
    with pytest.raises(JarsError, match=r"org\.some#provider;4\.2: not found"):
        fetch("some", lambda: [Module("org.some", "connector", "4.2")])


def test_a_repository_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    address = f"http://127.0.0.1:{free_port()}/maven2"
    monkeypatch.setenv("ENSUE_MAVEN", address)
    with pytest.raises(UnreachableError, match=f"no Maven repository at {address}: "):
        published("org.some", "connector", "4.2")
