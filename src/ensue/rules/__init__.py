"""Rules: files with a query and its settings, alone or a folder of them."""
