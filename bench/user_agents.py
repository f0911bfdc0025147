"""Two thousand realistic user agents with labels set by hand.

The labels are in user_agents.tsv next to the templates. They never come from the code under test, which is checked
against them.
"""

import csv
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

COUNT = 2_000

_TEMPLATES = Path(__file__).with_suffix(".tsv")
_PHONES = (
    *(
        "K",
        "Pixel 6a",
        "Pixel 8 Pro",
        "Pixel 10",
        "SM-S918B",
        "SM-S928U1",
        "SM-A546B",
        "SM-G991B",
        "SM-F946B",
        "CPH2449",
    ),
    *("CPH2557", "2201117TG", "M2101K6G", "23021RAA2Y", "V2219", "RMX3710", "moto g84 5G", "XQ-DC54", "CUBOT X30"),
    *("Nokia G42", "NE2213", "TECNO CK7n", "Infinix X6833B", "FP5", "A063", "ASUS_AI2302", "LM-G900N", "WIKO FEVER"),
)
_TABLETS = ("SM-X700", "SM-X910", "SM-T870", "SM-P613", "Lenovo TB-J606F", "Pixel Tablet", "Nexus 10", "MediaPad T5")
_BUILDS = (
    "UP1A.231005.007",
    "AP3A.240617.008",
    "TKQ1.220829.002",
    "BP1A.250305.019",
    "AP4A.250105.002",
    "QP1A.190711.020",
)


@dataclass(frozen=True, slots=True)
class Agent:
    raw: bytes
    browser: str
    """Empty for bots, like the next two."""
    platform: str
    device: str
    kind: str
    bot: str | None
    weight: float
    """Its share of all visits. The sum of all weights is 1."""


def agents(seed: int = 7) -> list[Agent]:
    """Distinct user agents, the same for the same seed. Templates with a greater share have more variants."""
    rng = Random(seed)
    with _TEMPLATES.open(newline="") as file:
        templates = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    shares = [float(template["share"]) for template in templates]
    numbers = range(len(templates))
    texts = {templates[number]["text"].format_map(_Parts(rng)): number for number in numbers}  # at least one of each
    while len(texts) < COUNT:
        [number] = rng.choices(numbers, shares)
        texts.setdefault(templates[number]["text"].format_map(_Parts(rng)), number)
    variants = Counter(texts.values())
    total = sum(shares)
    return [_agent(text, templates[number], variants[number] * total) for text, number in texts.items()]


def _agent(text: str, template: dict[str, str], divisor: float) -> Agent:
    labels = (template["browser"], template["platform"], template["device"], template["kind"])
    return Agent(text.encode(), *labels, template["bot"] or None, float(template["share"]) / divisor)


class _Parts(dict[str, str]):
    """Random values for the placeholders, one per name within a user agent."""

    def __init__(self, rng: Random) -> None:
        super().__init__()
        self._chance = rng

    def __missing__(self, name: str) -> str:
        self[name] = found = _PARTS[name](self._chance)
        return found


def _chrome(rng: Random) -> str:
    major = rng.randrange(96, 143)
    return f"{major}.0.0.0" if rng.random() < 0.6 else f"{major}.0.{rng.randrange(5000, 7999)}.{rng.randrange(200)}"


_PARTS: dict[str, Callable[[Random], str]] = {
    "chrome": _chrome,
    "crios": lambda rng: f"{rng.randrange(110, 143)}.0.{rng.randrange(5000, 7999)}.{rng.randrange(99)}",
    "opera": lambda rng: f"{rng.randrange(80, 125)}.0.0.0",
    "samsung": lambda rng: f"{rng.randrange(18, 30)}.0",
    "gecko": lambda rng: f"{rng.randrange(100, 146)}.0",
    "safari": lambda rng: f"{rng.randrange(14, 19)}.{rng.randrange(7)}",
    "ios": lambda rng: f"{rng.randrange(14, 19)}_{rng.randrange(7)}" + rng.choice(("", "", "_1", "_2")),
    "android": lambda rng: str(rng.randrange(9, 17)),
    "nt": lambda rng: rng.choice(("6.1", "6.3", "10.0")),
    "phone": lambda rng: rng.choice(_PHONES),
    "tablet": lambda rng: rng.choice(_TABLETS),
    "fire": lambda rng: rng.choice(("KFTRWI", "KFMAWI", "KFONWI", "KFTRPWI", "KFRAWI")),
    "build": lambda rng: rng.choice(_BUILDS),
    "app": lambda rng: str(rng.randrange(300, 560)),
    "small": lambda rng: str(rng.randrange(1, 30)),
    "number": lambda rng: str(rng.randrange(100, 9_999)),
}
