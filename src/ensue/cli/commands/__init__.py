"""The commands of `ensue`, one file each: their arguments, their help, and what they call."""
