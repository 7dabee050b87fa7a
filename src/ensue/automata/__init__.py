"""From formula to automaton: a machine for every operator, determinised on demand."""
