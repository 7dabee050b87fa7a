"""The range of a column as the footers of Parquet files tell it, without a job."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import types as kinds
from pyspark.sql import DataFrame

_MOST_FILES = 64
"""Of more files a job reads the columns faster than the driver the footers."""


def known_range(frame: DataFrame, name: str) -> tuple[int, int] | None:
    """Return the least and the largest value of a column: whole numbers, times in microseconds.

    None where it takes a job to know: the DataFrame is anything but all rows of some Parquet files
    that the driver can read, or a footer does not tell.
    """
    files = _files(frame)
    if not files:
        return None
    found = [each for file in files for each in _ranges(file, name)]
    known = [each for each in found if each is not None]
    if not known or len(known) < len(found):
        return None
    return min(low for low, _ in known), max(high for _, high in known)


def _files(frame: DataFrame) -> list[Path]:
    """Return the files that a DataFrame has all rows of; none where it is anything else."""
    names = frame.inputFiles()
    if not 0 < len(names) <= _MOST_FILES or any(urlsplit(each).scheme != "file" for each in names):
        return []
    files = [Path(unquote(urlsplit(each).path)) for each in names]
    whole = frame.sparkSession.read.schema(frame.schema)
    # Spark tells files, not what it was asked to read: these files, or the folder that they are in.
    folders = {str(file.parent) for file in files}
    if any(file.suffix != ".parquet" or not file.is_file() for file in files) or len(folders) > 1:
        return []
    for paths in (folders, map(str, files)):
        if frame.sameSemantics(whole.parquet(*paths)):
            return files
    return []


def _ranges(file: Path, name: str) -> Iterator[tuple[int, int] | None]:
    """Give the range of each row group that has rows; None where it is not told."""
    footer = pq.ParquetFile(file)
    kind = footer.schema_arrow.field(name).type if name in footer.schema_arrow.names else pa.null()
    plain = kinds.is_integer(kind) or (kinds.is_timestamp(kind) and kind.unit == "us")
    for number in range(footer.num_row_groups):
        group = footer.metadata.row_group(number)
        if not group.num_rows:
            continue
        columns = [group.column(place) for place in range(group.num_columns)]
        own = [each.statistics for each in columns if each.path_in_schema == name]
        if plain and own and own[0] is not None and own[0].has_min_max:
            yield int(own[0].min_raw), int(own[0].max_raw)
        else:
            yield None
