"""Tables in files of text, such as CSV: `records` reads their rows, `columns` finds out what the columns are.

`dates` and `values` read cells: a value that may mean two things is an error or a warning, never a guess.
"""
