"""The match graph: its arena, compaction, enumeration and totals over paths."""
