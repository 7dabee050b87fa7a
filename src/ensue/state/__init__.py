"""State as bytes: a codec for plain values, a container for arrays and tables."""
