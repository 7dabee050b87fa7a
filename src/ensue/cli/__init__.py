"""The `ensue` command: one file a command; what they need is imported when they run."""
