"""Queries on streaming DataFrames, with their state in Spark's state store."""
