"""Matching: configurations of the automaton on a stream, and what completes a match."""
