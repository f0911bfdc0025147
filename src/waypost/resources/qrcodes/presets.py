"""Styles with a name, which people choose in the dashboard. All are dark on light, and easy to scan."""

from collections.abc import Iterator, Mapping

from waypost.resources.qrcodes.style import CodeStyle, FrameStyle, ModuleStyle

_Look = tuple[str, str, ModuleStyle, FrameStyle]

PRESETS: Mapping[str, _Look] = {
    "Classic": ("#000000", "#ffffff", "squares", "none"),
    "Midnight": ("#1d3557", "#ffffff", "fluid", "none"),
    "Berry": ("#7a1f5c", "#fff4fa", "dots", "none"),
    "Forest": ("#1b4332", "#f1faee", "fluid", "bottom"),
    "Sunflower": ("#1f1a17", "#ffd166", "squares", "bottom"),
    "Label": ("#1d4ed8", "#ffffff", "dots", "bottom"),
}
"""Foreground, background, shape of the modules and frame."""


def looks() -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the name of each, and the fields that it sets."""
    for name, look in PRESETS.items():
        yield name, dict(zip(("foreground", "background", "style", "frame"), look, strict=True))


def is_chosen(fields: Mapping[str, str], style: CodeStyle) -> bool:
    return all(getattr(style, name) == value for name, value in fields.items())
