"""Colors of brands are changed as much as readable text needs."""

from hypothesis import given
from hypothesis import strategies as st

from waypost.kit.colors import contrast, readable

LIGHT, DARK = ("#f7f8f8", "#ffffff"), ("#101615", "#172120")
COLORS = st.integers(0, 0xFFFFFF).map("#{:06x}".format)


def test_knows_the_contrast_of_black_and_white() -> None:
    assert contrast("#000000", "#ffffff") == contrast("#ffffff", "#000000") == 21
    assert contrast("#767676", "#767676") == 1


def test_keeps_a_color_that_is_readable() -> None:
    assert readable("#0f766e", *LIGHT) == "#0f766e"
    assert readable("#4fd1c0", *DARK) == "#4fd1c0"


@given(COLORS)
def test_makes_every_color_readable(color: str) -> None:
    for grounds in (LIGHT, DARK):
        assert min(contrast(readable(color, *grounds), ground) for ground in grounds) >= 4.5
