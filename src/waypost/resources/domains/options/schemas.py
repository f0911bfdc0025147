"""Request and response bodies of the options of a domain."""

from typing import Annotated, ClassVar
from uuid import UUID

from typing_extensions import TypedDict

from waypost.kit.clock import timestamp
from waypost.kit.docs import doc, field
from waypost.kit.fields import Body, IdText, TimestampText
from waypost.resources.domains.options.model import IGNORE_CASE, DomainOptions


class DomainOptionsChange(Body):
    """Options that are left out stay as they are; null resets one to its default."""

    EXAMPLE: ClassVar = {"ignore_case": False}

    ignore_case: bool | None = field(
        "Whether visitors reach a link of the domain by its address in other case; true by default"
    )


class DomainOptionsJson(TypedDict):
    domain_id: Annotated[IdText, doc("ID of the domain", "01a1fbb2-4d0b-7a3c-8f8e-7c6b5a493827")]
    ignore_case: Annotated[
        bool,
        doc(
            "Whether visitors reach a link by its address in other case, if no other link of the domain differs by"
            " nothing else and its slug was not generated",
            True,
        ),
    ]
    updated_at: Annotated[
        TimestampText | None,
        doc("Time of the last change; null if there was none", "2026-11-20T02:56:16.123456Z"),
    ]


def to_json(domain_id: UUID, options: DomainOptions) -> DomainOptionsJson:
    return {
        "domain_id": str(domain_id),
        "ignore_case": IGNORE_CASE if options.ignore_case is None else options.ignore_case,
        "updated_at": timestamp(options.updated_at) if options.updated_at else None,
    }
