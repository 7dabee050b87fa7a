"""Counting: weights of runs of the automaton, without a match graph."""
