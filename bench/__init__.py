"""Benchmarks: every figure about speed and memory, behind one command (`make bench`)."""
