"""The rows of an archive, checked: an archive is input like any other."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Annotated, Any, TypeVar
from uuid import UUID

from pydantic import Base64Bytes, BaseModel, Field, ValidationError

from waypost.kit.clock import DAY, QUARTER, microseconds
from waypost.kit.fields import Text, Timestamp, UrlText, Uuid, max_characters, max_entries
from waypost.kit.utm import ShortText
from waypost.resources.clicks.filters import DEVICES
from waypost.resources.clicks.model import KINDS, Click
from waypost.resources.domains.appearance.schemas import DomainAppearanceChange
from waypost.resources.domains.options.schemas import DomainOptionsChange
from waypost.resources.imports.json_fields import MAX_NUMBER
from waypost.resources.links.schemas import MAX_PIXELS, LinkFields, NullIfBlank, TagName
from waypost.resources.links.tags.model import TagColor

_TEXTS = ("ip", "country", "referrer", "device", "browser", "platform")
_MAX_TEXT = 2_048
_LAST = microseconds(datetime(2100, 1, 1, tzinfo=UTC))
T = TypeVar("T", bound=BaseModel)
Rows = list[dict[str, Any]]


class LinkRow(LinkFields):
    """The fields of a link, and what only an export has. Null in a field means the same as leaving it out."""

    id: Uuid
    slug: ShortText
    hostname: ShortText
    destination_url: UrlText
    title: Annotated[ShortText, NullIfBlank]
    uploaded_image: Text | None = None
    pixel_ids: Annotated[list[Uuid], max_entries(MAX_PIXELS)] = []  # noqa: RUF012  # pydantic copies it
    is_enabled: bool = True
    imported_clicks: Annotated[int, Field(ge=0, le=MAX_NUMBER)] = 0
    routing: Any = None
    """Checked apart: a link whose routing cannot be used is imported, and disabled."""
    created_at: Timestamp
    updated_at: Timestamp


class DeletedLinkRow(BaseModel):
    id: UUID
    slug: ShortText
    created_at: Timestamp
    deleted_at: Timestamp


class AliasRow(BaseModel):
    link_id: UUID
    hostname: ShortText
    path: Annotated[Text, max_characters(2048)]
    created_at: Timestamp


class DomainRow(BaseModel):
    hostname: ShortText
    root_url: UrlText | None = None
    not_found_url: UrlText | None = None

    @property
    def target_urls(self) -> dict[str, str]:
        return self.model_dump(include={"root_url", "not_found_url"}, exclude_none=True)


class AppLinksRow(BaseModel):
    """Its documents are checked apart."""

    hostname: ShortText
    apple_app_site_association: dict[str, Any] | None = None
    assetlinks: list[Any] | None = None


class DomainOptionsRow(DomainOptionsChange):
    hostname: ShortText


class DomainAppearanceRow(DomainAppearanceChange):
    hostname: ShortText


class LogoRow(BaseModel):
    hostname: ShortText | None
    image: Base64Bytes


class TagRow(BaseModel):
    name: TagName
    color: TagColor


class PixelRow(BaseModel):
    id: UUID
    platform: ShortText
    name: ShortText


@dataclass(frozen=True, slots=True)
class ClickRow:
    id: UUID
    link_id: UUID
    row: Mapping[str, Any]
    at: int

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> "ClickRow | None":
        """Return None for a row that cannot be a click."""
        try:
            at = microseconds(datetime.fromisoformat(row["created_at"]))
            texts = [row[name] for name in _TEXTS] + [row.get("target", "")]
            is_known = row["kind"] in KINDS and row["device"] in DEVICES
            is_known &= row["bot"] is None or _is_text(row["bot"])
            is_valid = is_known and 0 <= at < _LAST and isinstance(row["is_scan"], bool)
            if not is_valid or not all(_is_text(text) for text in texts) or not 0 <= int(row["visitor_id"], 16) < 2**64:
                return None
            return cls(UUID(row["id"]), UUID(row["link_id"]), row, at)
        except (KeyError, TypeError, ValueError, AttributeError):
            return None

    def to_click(self, id_: UUID, link_id: UUID, account_id: UUID) -> Click:
        return Click(
            id=id_.bytes,
            account_id=account_id.bytes,
            link_id=link_id.bytes,
            at=self.at,
            day=self.at // DAY,
            quarter=self.at // QUARTER % 96,
            visitor_id=self._visitor_id(account_id),
            kind=self.row["kind"],
            bot=self.row["bot"],
            is_scan=self.row["is_scan"],
            target=self.row.get("target", ""),
            **{name: self.row[name] for name in _TEXTS},
        )

    def _visitor_id(self, account_id: UUID) -> int:
        """Derive it: within an installation, the visitors of each account have ids of their own."""
        visitor = int(self.row["visitor_id"], 16).to_bytes(8)
        return int.from_bytes(blake2b(visitor, digest_size=8, key=account_id.bytes).digest(), signed=True)


def parse_rows(
    model: type[T], rows: Iterable[Mapping[str, Any]], what: str, warn: Callable[[str, str], None]
) -> list[T]:
    """Leave out what is no such row, with a warning. `what`: in the words of people."""
    parsed = []
    for row in rows:
        try:
            parsed.append(model.model_validate(row))
        except ValidationError:
            warn(f"A {what} cannot be read and is left out", str(row.get("id", row.get("link_id", "?"))))
    return parsed


def reason_of(error: Exception) -> str:
    """Name the first field that is wrong."""
    if isinstance(error, ValidationError):
        first = error.errors(include_input=False, include_context=False, include_url=False)[0]
        return f"{'.'.join(map(str, first['loc']))[:100]}: {first['msg'].removeprefix('Value error, ')}"
    return str(error)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= _MAX_TEXT and "\0" not in value
