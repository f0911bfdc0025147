"""Request and response bodies of the options of a domain."""

from typing import Annotated, Any, ClassVar
from uuid import UUID

from pydantic import AfterValidator, Field, GetJsonSchemaHandler
from pydantic_core import CoreSchema
from typing_extensions import TypedDict

from waypost.kit.clock import timestamp
from waypost.kit.docs import doc, field
from waypost.kit.fields import Body, IdText, TimestampText
from waypost.kit.forward_query import (
    MAX_NAME,
    MAX_NAMES,
    NO_FORWARD_QUERY,
    NO_TEXT,
    WRONG_COUNT,
    find_name_problem,
    from_text,
    to_text,
)
from waypost.kit.slug_style import LONGEST, SHORTEST, SlugAlphabet
from waypost.resources.domains.options.model import DomainOptions

FORWARD_QUERY = (
    'Which parameters of the visitor\'s query are added to the destination: "none", "all", or 1 to 20 names, of which'
    " an asterisk at the end matches the rest"
)
SLUG_ALPHABET = (
    "Characters of generated slugs: letters and digits, only small letters and digits, or digits. Those that look like"
    " others are left out where there are letters"
)
FORWARD_PATH = "Whether what follows the link's path in the visitor's address is added to the path of the destination"


def _check_forward_query(value: Any) -> Any:
    if value in ("none", "all"):
        return value
    if not isinstance(value, list):
        raise ValueError(NO_FORWARD_QUERY)  # noqa: TRY004  # what pydantic reports
    if not 0 < len(value) <= MAX_NAMES:
        raise ValueError(WRONG_COUNT)
    for name in value:
        if problem := find_name_problem(name) if isinstance(name, str) else NO_TEXT:
            raise ValueError(problem)
    return list(dict.fromkeys(value))


class _TextOrNames:
    """The schema of a value that is a text or a list, in the one form that clients have types for."""

    def __get_pydantic_json_schema__(self, _: CoreSchema, __: GetJsonSchemaHandler) -> dict[str, Any]:
        names = {"type": "string", "minLength": 1, "maxLength": MAX_NAME}
        types = {"type": ["string", "array"], "pattern": "^(none|all)$"}
        return {**types, "items": names, "minItems": 1, "maxItems": MAX_NAMES}


ForwardQueryField = Annotated[Any, AfterValidator(_check_forward_query), _TextOrNames()]


class DomainOptionsChange(Body):
    """Options that are left out stay as they are; null resets one to its default."""

    EXAMPLE: ClassVar = {"forward_query": ["utm_*", "gclid"], "ignore_case": False}

    forward_query: ForwardQueryField | None = field(FORWARD_QUERY, ["utm_*", "gclid"])
    forward_path: bool | None = field(FORWARD_PATH, True)
    ignore_case: bool | None = field(
        "Whether visitors reach a link of the domain by its address in other case; true by default"
    )

    slug_length: Annotated[int, Field(ge=SHORTEST, le=LONGEST)] | None = field(
        f"Characters of slugs that are generated on the domain, {SHORTEST} to {LONGEST}; 7 by default", 5
    )
    slug_alphabet: SlugAlphabet | None = field(f"{SLUG_ALPHABET}; `mixed` by default", "lower")

    @property
    def options(self) -> DomainOptions:
        """The options, without those that were not sent."""
        query, path = to_text(self.forward_query), self.forward_path
        return DomainOptions(self.ignore_case, query, path, self.slug_length, self.slug_alphabet)

    def apply_to(self, before: DomainOptions) -> DomainOptions:
        sent = self.options._asdict()
        return before._replace(**{name: sent[name] for name in self.model_fields_set})


class DomainOptionsJson(TypedDict):
    domain_id: Annotated[IdText, doc("ID of the domain", "01a1fbb2-4d0b-7a3c-8f8e-7c6b5a493827")]
    forward_query: Annotated[ForwardQueryField, doc(FORWARD_QUERY, "none")]
    forward_path: Annotated[bool, doc(FORWARD_PATH, False)]
    ignore_case: Annotated[
        bool,
        doc(
            "Whether visitors reach a link by its address in other case, if no other link of the domain differs by"
            " nothing else and its slug was not generated",
            True,
        ),
    ]
    slug_length: Annotated[int, doc("Characters of generated slugs", 7)]
    slug_alphabet: Annotated[SlugAlphabet, doc(SLUG_ALPHABET)]
    updated_at: Annotated[
        TimestampText | None,
        doc("Time of the last change; null if there was none", "2026-11-20T02:56:16.123456Z"),
    ]


def to_json(domain_id: UUID, options: DomainOptions) -> DomainOptionsJson:
    return {
        "domain_id": str(domain_id),
        "forward_query": from_text(options.forward_query) or "none",
        "forward_path": bool(options.forward_path),
        "ignore_case": options.ignores_case,
        "slug_length": options.slug_style.length,
        "slug_alphabet": options.slug_style.alphabet,
        "updated_at": timestamp(options.updated_at) if options.updated_at else None,
    }
