"""Request and response bodies of the appearance of a domain."""

from typing import Annotated, ClassVar
from uuid import UUID

from typing_extensions import TypedDict

from waypost.kit.docs import doc, doc_as, field
from waypost.kit.fields import Body, Color, IdText, LongText, Text, TimestampText, max_characters
from waypost.kit.json_object import json_object
from waypost.resources.domains.appearance.model import DomainAppearance

MAX_NAME, MAX_TEXT = 60, 300

PageName = Annotated[Text, max_characters(MAX_NAME)]
PageText = Annotated[LongText, max_characters(MAX_TEXT)]


class DomainAppearanceChange(Body):
    """Fields that are left out stay as they are; null resets one to its default."""

    EXAMPLE: ClassVar = {"name": "Acme", "color": "#7c3aed"}

    name: PageName | None = field("Name above each page, which links to the domain's root URL if it has one", "Acme")
    color: Color | None = field(
        "Color of buttons, links and the edge of the page. Where text of it would be hard to read, it is made darker,"
        " or lighter on a dark background",
        "#7c3aed",
    )
    not_found_text: PageText | None = field(
        "Text for visitors of an address that no link has, or a disabled one", "Ask us for the right address."
    )
    expired_text: PageText | None = field(
        "Text for visitors of a link that has expired or reached its click limit", "The sale is over."
    )
    not_started_text: PageText | None = field("Text for visitors of a link before its start", "Come back on Monday.")
    password_text: PageText | None = field(
        "Text above the form that asks for the password of a link", "The password is in our newsletter."
    )

    def apply_to(self, before: DomainAppearance) -> DomainAppearance:
        sent = {name: getattr(self, name) for name in self.model_fields_set.intersection(DomainAppearance._fields)}
        return before._replace(**{name: value.strip() or None if value else None for name, value in sent.items()})


class DomainAppearanceJson(TypedDict):
    domain_id: Annotated[IdText, doc("ID of the domain", "01a1fbb2-4d0b-7a3c-8f8e-7c6b5a493827")]
    name: Annotated[PageName | None, doc_as(DomainAppearanceChange, "name")]
    color: Annotated[Color | None, doc_as(DomainAppearanceChange, "color")]
    not_found_text: Annotated[PageText | None, doc_as(DomainAppearanceChange, "not_found_text")]
    expired_text: Annotated[PageText | None, doc_as(DomainAppearanceChange, "expired_text")]
    not_started_text: Annotated[PageText | None, doc_as(DomainAppearanceChange, "not_started_text")]
    password_text: Annotated[PageText | None, doc_as(DomainAppearanceChange, "password_text")]
    updated_at: Annotated[
        TimestampText | None, doc("Time of the last change; null if there was none", "2026-11-20T02:56:16.123456Z")
    ]


def to_json(domain_id: UUID, appearance: DomainAppearance) -> DomainAppearanceJson:
    return json_object(DomainAppearanceJson, appearance, domain_id=domain_id)
