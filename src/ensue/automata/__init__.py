"""From formula to automaton: machines for every operator, determinised as events need it."""
