"""Queries in Spark SQL: table functions that read a table of events and give rows of matches."""
