"""Editor support: diagnostics, hover, completion, formatting, highlighting, a language server."""
