"""Predicates on single events: evaluated on whole columns and combined into symbols."""
