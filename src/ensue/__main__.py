"""Run the command line: `python -m ensue`."""

from ensue.cli.app import main

if __name__ == "__main__":
    main()
