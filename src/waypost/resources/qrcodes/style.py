"""How a code looks: what is asked for, and what about it may keep it from being read."""

from dataclasses import dataclass
from typing import Literal

ErrorCorrection = Literal["L", "M", "Q", "H"]
"""Of error correction: 7, 15, 25 or 30 % of a code may be damaged."""
ModuleStyle = Literal["squares", "dots", "fluid"]


@dataclass(frozen=True, slots=True)
class CodeStyle:
    foreground: str = "#000000"
    """As `#rrggbb` in lower case, like the background."""
    background: str = "#ffffff"
    level: ErrorCorrection = "M"
    style: ModuleStyle = "squares"
    size: int = 512
    """Pixels a side, the margin included."""
    margin: int = 4
    """Modules of quiet zone on each side."""
