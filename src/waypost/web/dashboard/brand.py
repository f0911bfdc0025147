"""The brand color of the dashboard, in both looks. Its contrast with what is around it is computed. Pure."""

from colorsys import hls_to_rgb, rgb_to_hls

from waypost.kit.colors import readable

DEFAULT = "#0f766e"
_LIGHT = ("#ffffff", "#f8f7f4")
_DARK = ("#1e1d1a", "#272521", "#151412")
"""Backgrounds in `app.css`: surfaces first, the page's own last."""


def rules(color: str) -> str:
    """Return the rules that set the colors of a brand, by a color such as `#0f766e`."""
    light = _tokens(color, _LIGHT, towards="#000000", on_accent="#ffffff", tint=0.1)
    dark = _tokens(_lightened(color), _DARK, towards="#ffffff", on_accent=_DARK[-1], tint=0.16)
    return f":root{{{light}}}@media(prefers-color-scheme:dark){{:root{{{dark}}}}}"


def _tokens(color: str, grounds: tuple[str, ...], *, towards: str, on_accent: str, tint: float) -> str:
    """Links and buttons can be read on all backgrounds, and on a tint of their own."""
    soft = _mix(grounds[0], readable(color, *grounds), tint)
    accent = readable(color, *grounds, soft)
    tokens = {"accent": accent, "accent-hover": _mix(accent, towards, 0.2), "accent-soft": soft, "on-accent": on_accent}
    return ";".join(f"--{name}:{value}" for name, value in tokens.items())


def _lightened(color: str) -> str:
    """Return the color with a lightness of at least 0.6. Mixed with white instead, it would look gray."""
    hue, lightness, saturation = rgb_to_hls(*(part / 255 for part in bytes.fromhex(color[1:])))
    return "#" + bytes(round(part * 255) for part in hls_to_rgb(hue, max(lightness, 0.6), saturation * 0.8)).hex()


def _mix(color: str, other: str, share: float) -> str:
    pairs = zip(bytes.fromhex(color[1:]), bytes.fromhex(other[1:]), strict=True)
    return "#" + bytes(round(own + (its - own) * share) for own, its in pairs).hex()
