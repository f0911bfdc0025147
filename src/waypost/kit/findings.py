"""What is found about an installation, by `waypost doctor` or at a start."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Finding:
    check: str
    state: Literal["ok", "warning", "failed"]
    message: str
    advice: str = ""
