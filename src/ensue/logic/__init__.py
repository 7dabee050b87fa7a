"""Formulas of queries, and their reference semantics."""
