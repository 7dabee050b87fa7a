"""Files that are followed while they are rotated or truncated."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ensue.errors import EventError
from ensue.io.columns import Position, ReadBatch, TextOptions
from ensue.io.readers import open_files

HEADS = {"e.csv": "a,b\n", "e.jsonl": ""}
Step = Callable[[], object]


def lines(name: str, *numbers: int) -> str:
    if name.endswith("csv"):
        return "".join(f"{number},{'x' * 30}\n" for number in numbers)
    return "".join(json.dumps({"a": number, "b": "x" * 30}) + "\n" for number in numbers)


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


class Run:
    """Follows a file; instead of waiting, it does the next step."""

    def __init__(self, path: Path, steps: list[Step], start: Position | None = None) -> None:
        self.remarks: list[str] = []

        def wait() -> bool:
            if steps:
                steps.pop(0)()
                return True
            return False

        reader = open_files([path], TextOptions(collect=True), start, wait, self.remarks.append)
        cuts = reader.read_batches(None)
        self.cuts: list[ReadBatch] = list(cuts)

    @property
    def numbers(self) -> list[Any]:
        return [row["a"] for cut in self.cuts for row in cut.batch.to_pylist()]

    @property
    def position(self) -> Position:
        return json.loads(json.dumps(self.cuts[-1].position))  # type: ignore[no-any-return]


@pytest.fixture(params=["e.csv", "e.jsonl"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path: Path = tmp_path / request.param
    path.write_text(HEADS[path.name] + lines(path.name, 1, 2))
    return path


def fresh(path: Path, *numbers: int, head: bool = True) -> None:
    path.write_text((HEADS[path.name] if head else "") + lines(path.name, *numbers))


@pytest.mark.parametrize("head", [True, False], ids=["header", "none"])
def test_a_file_that_is_renamed_and_replaced(path: Path, head: bool) -> None:
    old = path.with_name(f"{path.name}.1")
    steps: list[Step] = [
        lambda: append(path, lines(path.name, 3)),
        lambda: path.rename(old),
        lambda: append(old, lines(path.name, 4) + lines(path.name, 5)[:-1]),
        lambda: fresh(path, 6, 7, head=head),
        lambda: append(path, lines(path.name, 8)),
    ]
    run = Run(path, steps)
    assert run.numbers == [1, 2, 3, 4, 5, 6, 7, 8]
    assert run.remarks == [f"{path}: the file was replaced, and the new one is followed"]


def test_lines_are_counted_in_the_new_file(path: Path) -> None:
    old = path.with_name("old")
    run = Run(path, [lambda: path.rename(old), lambda: fresh(path, 3, 4)])
    assert run.cuts[-1].locate is not None
    assert run.cuts[-1].locate(1) == (str(path), 2 + path.name.endswith("csv"))


def test_a_file_that_is_copied_and_truncated(path: Path) -> None:
    def copy_and_truncate() -> None:
        shutil.copy(path, path.with_name(f"{path.name}.1"))
        os.truncate(path, 0)

    steps: list[Step] = [
        copy_and_truncate,
        lambda: append(path, HEADS[path.name] + lines(path.name, 3)),
        lambda: append(path, lines(path.name, 4)[:7]),
        copy_and_truncate,
        lambda: append(path, lines(path.name, 5)),
    ]
    run = Run(path, steps)
    assert run.numbers == [1, 2, 3, 5]
    sentence = f"{path}: the file was truncated, and is read from its beginning"
    assert run.remarks == [sentence] * 2


def test_a_file_that_is_longer_again_at_once(path: Path) -> None:
    """Truncated and written between two looks, it is known by what it begins with."""
    run = Run(path, [lambda: fresh(path, 11, 12, 13, 14)])
    assert run.numbers == [1, 2, 11, 12, 13, 14]
    assert "truncated" in run.remarks[0]


def test_other_columns_are_an_error(tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(EventError, match=r"the new file has other columns \(a, c\) than the one"):
        Run(path, [lambda: path.rename(tmp_path / "old"), lambda: path.write_text("a,c\n1,2\n")])


# Rotated while nobody looked


def test_going_on_in_the_same_file(path: Path) -> None:
    first = Run(path, [])
    append(path, lines(path.name, 3))
    second = Run(path, [], first.position)
    assert (second.numbers, second.remarks) == ([3], [])


def test_going_on_after_rotations(path: Path) -> None:
    first = Run(path, [lambda: append(path, lines(path.name, 3))])
    append(path, lines(path.name, 4))
    for number in range(2):
        for each in range(number, 0, -1):
            path.with_name(f"{path.name}.{each}").rename(path.with_name(f"{path.name}.{each + 1}"))
        path.rename(path.with_name(f"{path.name}.1"))
        fresh(path, 10 + number)
    for age, name in enumerate([f"{path.name}.2", f"{path.name}.1", path.name]):
        os.utime(path.with_name(name), (100 + age, 100 + age))
    second = Run(path, [lambda: append(path, lines(path.name, 20))], first.position)
    assert second.numbers == [4, 10, 11, 20]
    assert second.remarks[0] == f"{path}: what was read before is {path.name}.2 now, and read on"


def test_going_on_after_a_copy_and_a_truncation(path: Path) -> None:
    first = Run(path, [])
    append(path, lines(path.name, 3))
    shutil.copy(path, path.with_name(f"{path.stem}-20260131{path.suffix}"))
    os.truncate(path, 0)
    append(path, HEADS[path.name] + lines(path.name, 4))
    second = Run(path, [], first.position)
    assert second.numbers == [3, 4]
    assert "what was read before is e-20260131" in second.remarks[0]


def test_going_on_when_the_old_file_is_gone(path: Path) -> None:
    first = Run(path, [])
    path.unlink()
    fresh(path, 3)
    second = Run(path, [], first.position)
    assert second.numbers == [3]
    assert "the old one is not to be found beside it" in second.remarks[0]


def test_going_on_in_the_middle_of_a_rotated_file(path: Path) -> None:
    """A position in the old file is in the old file, though the new one is there by then."""
    old = path.with_name(f"{path.name}.1")

    def rotate() -> None:
        path.rename(old)
        append(old, lines(path.name, 3, 4))
        fresh(path, 5)

    run = Run(path, [rotate])
    assert run.numbers == [1, 2, 3, 4, 5]
    for at, cut in enumerate(run.cuts[:-1]):
        rest = Run(path, [], json.loads(json.dumps(cut.position)))
        assert run.numbers[: sum(each.batch.num_rows for each in run.cuts[: at + 1])] + (
            rest.numbers
        ) == [1, 2, 3, 4, 5]
