"""Readers and writers of events: Arrow, Parquet, CSV, JSON lines, pandas, polars, dicts."""
