"""What roles may do is on the page that users read."""

import re
from pathlib import Path

from waypost.accounts import roles
from waypost.accounts.model import ROLES

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "team.md"


def test_the_guide_has_the_table_of_roles() -> None:
    """The rows are made from `accounts/roles.py`: copy them from the failure."""
    expected = [
        f"| {roles.DESCRIPTIONS[action]} | "
        + " | ".join("yes" if roles.may(role, action) else "" for role in ROLES)
        + " |"
        for action in roles.ACTIONS
    ]
    listed = re.search(r"\| may \| viewer .*\n\|[-|]+\n((?:\|.*\n)+)", PAGE.read_text())
    assert listed
    assert listed[1].splitlines() == [re.sub(r"\|  (?=\|)", "| ", row) for row in expected]
