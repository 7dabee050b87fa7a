"""Generators of realistic event streams: the same seed gives the same events, and no data files."""

from ensue.datasets.stock import stock_schema, stock_table, stock_trades

__all__ = ["stock_schema", "stock_table", "stock_trades"]
