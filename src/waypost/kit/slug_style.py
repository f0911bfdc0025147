"""How generated slugs look."""

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

SlugAlphabet = Literal["mixed", "lower", "digits"]

ALPHABETS: Mapping[SlugAlphabet, str] = {  # letters and digits that are not taken for others: no 0 O 1 l I
    "mixed": "23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
    "lower": "23456789abcdefghijkmnopqrstuvwxyz",
    "digits": "0123456789",
}
SHORTEST: Final = 4
LONGEST: Final = 20


class SlugStyle(NamedTuple):
    length: int = 7
    alphabet: SlugAlphabet = "mixed"

    @property
    def possible(self) -> int:
        """How many slugs there are of this style."""
        return int(len(ALPHABETS[self.alphabet]) ** self.length)


DEFAULT_SLUGS: Final = SlugStyle()
