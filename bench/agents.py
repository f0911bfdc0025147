"""Two thousand user agents as a busy service sees them, each with what a person would say it is.

The labels stand beside the templates in agents.tsv and never come from the code under test, which is held to them.
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
    """Of bots: "", as are the next two. Nobody is asked what a bot looks like."""
    platform: str
    device: str
    kind: str
    bot: str | None
    weight: float
    """Its share of all visits; together they are 1."""


def agents(seed: int = 7) -> list[Agent]:
    """The same ones for the same seed, all different; of templates with a greater share there are more variants."""
    chance = Random(seed)
    with _TEMPLATES.open(newline="") as file:
        templates = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    shares = [float(template["share"]) for template in templates]
    places = range(len(templates))
    texts = {templates[place]["text"].format_map(_Parts(chance)): place for place in places}  # one of each at least
    while len(texts) < COUNT:
        [place] = chance.choices(places, shares)
        texts.setdefault(templates[place]["text"].format_map(_Parts(chance)), place)
    variants = Counter(texts.values())
    whole = sum(shares)
    return [_agent(text, templates[place], variants[place] * whole) for text, place in texts.items()]


def _agent(text: str, template: dict[str, str], divisor: float) -> Agent:
    labels = (template["browser"], template["platform"], template["device"], template["kind"])
    return Agent(text.encode(), *labels, template["bot"] or None, float(template["share"]) / divisor)


class _Parts(dict[str, str]):
    """One value for each name within a user agent."""

    def __init__(self, chance: Random) -> None:
        super().__init__()
        self._chance = chance

    def __missing__(self, name: str) -> str:
        self[name] = found = _PARTS[name](self._chance)
        return found


def _chrome(chance: Random) -> str:
    major = chance.randrange(96, 143)
    return (
        f"{major}.0.0.0"
        if chance.random() < 0.6
        else f"{major}.0.{chance.randrange(5000, 7999)}.{chance.randrange(200)}"
    )


_PARTS: dict[str, Callable[[Random], str]] = {
    "chrome": _chrome,
    "crios": lambda chance: f"{chance.randrange(110, 143)}.0.{chance.randrange(5000, 7999)}.{chance.randrange(99)}",
    "opera": lambda chance: f"{chance.randrange(80, 125)}.0.0.0",
    "samsung": lambda chance: f"{chance.randrange(18, 30)}.0",
    "gecko": lambda chance: f"{chance.randrange(100, 146)}.0",
    "safari": lambda chance: f"{chance.randrange(14, 19)}.{chance.randrange(7)}",
    "ios": lambda chance: f"{chance.randrange(14, 19)}_{chance.randrange(7)}" + chance.choice(("", "", "_1", "_2")),
    "android": lambda chance: str(chance.randrange(9, 17)),
    "nt": lambda chance: chance.choice(("6.1", "6.3", "10.0")),
    "phone": lambda chance: chance.choice(_PHONES),
    "tablet": lambda chance: chance.choice(_TABLETS),
    "fire": lambda chance: chance.choice(("KFTRWI", "KFMAWI", "KFONWI", "KFTRPWI", "KFRAWI")),
    "build": lambda chance: chance.choice(_BUILDS),
    "app": lambda chance: str(chance.randrange(300, 560)),
    "small": lambda chance: str(chance.randrange(1, 30)),
    "number": lambda chance: str(chance.randrange(100, 9_999)),
}
