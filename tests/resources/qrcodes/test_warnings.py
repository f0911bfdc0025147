"""What may keep a code from being read is said in the answer; the style is taken all the same."""

from typing import Any

import pytest
from resources.qrcodes.codes_env import Env

from waypost.resources.qrcodes.layout import lay_out
from waypost.resources.qrcodes.style import CodeStyle
from waypost.resources.qrcodes.warnings import LIGHT_ON_DARK, NARROW_MARGIN, warnings

TEXT = "https://go.example/abcdefg?r=qr"  # 29 modules at level M


async def test_warns_in_responses(env: Env) -> None:
    link = await env.links.make()
    assert (await env.find(link))["warnings"] == []
    shown = (await env.set(link, foreground="#eee", background="#ddd", size=64, margin=10))["warnings"]
    assert [word for word, text in zip(("contrast", "lighter", "64 pixels"), shown, strict=True) if word in text] == [
        "contrast",
        "lighter",
        "64 pixels",
    ]
    assert (await env.find(link))["warnings"] == shown
    assert (await env.set(link))["warnings"] == []


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"foreground": "#949494"}, []),  # 3.03:1
        ({"foreground": "#959595"}, ["a contrast of 2.9:1"]),
        ({"foreground": "#ffff00"}, ["a contrast of 1.0:1"]),
        ({"foreground": "#ff0000", "background": "#00ff00"}, ["a contrast of 2.9:1"]),
        ({"foreground": "#ffffff", "background": "#000000"}, [LIGHT_ON_DARK]),
        ({"foreground": "#123456", "background": "#123456"}, ["a contrast of 1.0:1"]),
        ({"size": 93}, []),
        ({"size": 92}, ["A size of 148 or more"]),
        ({"margin": 3}, [NARROW_MARGIN]),
        ({"size": 64, "margin": 0}, [NARROW_MARGIN, "A size of 116 or more"]),
    ],
)
def test_warns_about_styles_that_are_hard_to_scan(fields: dict[str, Any], expected: list[str]) -> None:
    style = CodeStyle(**fields)
    found = list(warnings(style, lay_out(TEXT, style), has_logo=False))
    assert [part for part, text in zip(expected, found, strict=True) if part in text] == expected


@pytest.mark.parametrize(
    ("length", "size", "advice"), [(27, 0.22, None), (43, 0.21, "a logo of the size 0.21."), (80, 0.0, "no logo.")]
)
def test_names_the_logo_that_hides_no_pattern(length: int, size: float, advice: str | None) -> None:
    def found(style: CodeStyle) -> list[str]:
        return list(warnings(style, lay_out(TEXT + "x" * length, style, (1, 1)), has_logo=True))

    assert [text.partition(", or ")[2] for text in found(CodeStyle(logo=True))] == [advice] * (advice is not None)
    assert found(CodeStyle(logo=size > 0, logo_size=size)) == []
