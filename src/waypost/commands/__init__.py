"""What the commands of `cli.py` do, one subject per file. Imports nothing here: `--help` answers at once."""
