"""What users hold in their hands: queries, matches, and the streams they are found in."""
