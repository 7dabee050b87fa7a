"""A run of a query over files: events in, matches out, and what keeps it going in between."""
