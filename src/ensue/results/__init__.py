"""Match sets, what is decided as they are listed, and matches as objects, rows and tables."""
