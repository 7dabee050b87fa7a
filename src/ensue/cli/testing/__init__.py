"""Rule tests: files that say which matches a query must find in which events."""
