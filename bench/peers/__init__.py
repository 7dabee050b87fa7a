"""Ensue beside other engines: the same streams, the same questions, counts compared."""
