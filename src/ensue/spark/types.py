"""Columns of Spark as columns of Arrow, and back."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas import types as pyspark_types
from pyspark.sql.types import StringType, StructType

from ensue.predicates.spark_literals import column


def arrow_schema(schema: StructType) -> pa.Schema:
    """Return the columns of a DataFrame as Arrow has them."""
    convert: Callable[..., pa.Schema] = pyspark_types.to_arrow_schema
    # Earlier releases of Spark 4 took UTC for granted.
    zone = {"timezone": "UTC"} if "timezone" in inspect.signature(convert).parameters else {}
    return convert(schema, **zone)


def spark_schema(schema: pa.Schema) -> StructType:
    """Return columns of Arrow as a DataFrame has them."""
    converted: StructType = pyspark_types.from_arrow_schema(schema)
    return converted


def plain_strings(frame: DataFrame) -> DataFrame:
    """Compare strings by their bytes, as the engine does, whatever collation a column has."""
    collated = {
        each.name: F.expr(f"collate({column((each.name,))}, 'UTF8_BINARY')")
        for each in frame.schema
        if isinstance(each.dataType, StringType) and " collate " in each.dataType.simpleString()
    }
    return frame.withColumns(collated) if collated else frame
