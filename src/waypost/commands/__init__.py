"""What the commands of `cli.py` do, one subject per file. Imports nothing, so that `--help` answers at once."""
