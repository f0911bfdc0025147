"""Cursors of sources that list links in sections, such as the groups or domains of an account, one after another.

A cursor is `SECTION:POSITION`, and a section begins without a position. Sections are read in the order of their ids, so
that a cursor says which ones are done.
"""

from collections.abc import Sequence

from waypost.resources.imports.source import UnexpectedAnswer, WrongToken


def place(cursor: str | None, sections: Sequence[str], kind: str) -> tuple[str, str]:
    """Return section and position of the cursor, the first one for None. `kind`: what the source calls a section.

    Raises WrongToken when the token does not see that section, such as that of another account.
    """
    if not sections:
        raise WrongToken(f"The token sees no {kind}. Check the account or workspace that it belongs to.")
    section, _, position = (f"{min(sections)}:" if cursor is None else cursor).partition(":")
    if section not in sections:
        raise WrongToken(
            f"The token does not see the {kind} that this import has reached. Use a token of the same account."
        )
    return section, position


def following(section: str, position: str, next_position: str | None, sections: Sequence[str]) -> str | None:
    """Return the cursor after this page: in the section, in the next one, or None after the last.

    Raises UnexpectedAnswer for a source that does not advance.
    """
    if next_position and next_position == position:
        raise UnexpectedAnswer("The source sends the same page again and again. Try again later.")
    if next_position:
        return f"{section}:{next_position}"
    return next((f"{other}:" for other in sorted(sections) if other > section), None)
