"""The table of actions in docs/guides/audit-log.md is made from the code: with WRITE_DOCS=1 the test writes it."""

import os
from pathlib import Path

from waypost.audit.actions import LABELS

PAGE = Path(__file__).parents[2] / "docs/guides/audit-log.md"
MARK = "<!-- made from the code by tests/audit/test_docs.py -->\n\n"


def test_the_page_lists_all_actions() -> None:
    rows = "".join(f"| `{action}` | {label} |\n" for action, label in LABELS.items())
    table = f"| action | meaning |\n|---|---|\n{rows}"
    before, _, shown = PAGE.read_text().partition(MARK)
    if "WRITE_DOCS" in os.environ:
        PAGE.write_text(before + MARK + table)
    else:
        assert shown == table
