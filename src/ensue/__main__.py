"""Run the command line: `python -m ensue`."""

from ensue.cli.app import main

main()
