"""Input and output of codes."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from waypost.kit.clock import timestamp
from waypost.kit.fields import Body, Text
from waypost.resources.qrcodes import rules
from waypost.resources.qrcodes.model import QrCode
from waypost.resources.qrcodes.style import CodeStyle, ErrorCorrection, ModuleStyle

Colour = Annotated[Text, AfterValidator(rules.colour)]


class NewStyle(Body):
    """An omitted or null field gets its default."""

    foreground: Colour | None = None
    background: Colour | None = None
    level: ErrorCorrection | None = None
    style: ModuleStyle | None = None
    size: Annotated[int, Field(ge=rules.MIN_SIZE, le=rules.MAX_SIZE)] | None = None
    margin: Annotated[int, Field(ge=0, le=rules.MAX_MARGIN)] | None = None

    @property
    def code_style(self) -> CodeStyle:
        return CodeStyle(**self.model_dump(exclude_none=True))


def of_form(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a form, which sends numbers as text."""
    numbers = {name: _number(fields[name]) for name in ("size", "margin") if name in fields}
    return {**fields, **numbers}


def to_json(code: QrCode, warnings: list[str], image_urls: dict[str, str]) -> dict[str, Any]:
    return {
        "id": str(code.id),
        "link_id": str(code.link_id),
        **asdict(code.style),
        "warnings": warnings,
        "scans": code.scans,
        **image_urls,
        "created_at": timestamp(code.created_at),
        "updated_at": timestamp(code.updated_at),
    }


def _number(value: Any) -> Any:
    is_number = isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10
    return int(value) if is_number else value
