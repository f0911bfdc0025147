"""The fields of a new alias, and the JSON of an alias."""

from typing import Annotated, ClassVar

from pydantic import AfterValidator
from typing_extensions import TypedDict

from waypost.kit.docs import doc, field
from waypost.kit.fields import Body, Documented, IdText, Text, TimestampText
from waypost.kit.json_object import json_object
from waypost.resources.domains import names
from waypost.resources.links.aliases.model import Alias
from waypost.resources.links.aliases.rules import MAX_PATH, find_path_problem


def _check_path(path: str) -> str:
    if problem := find_path_problem(path):
        raise ValueError(problem)
    return path


_PATH_SCHEMA = {
    "minLength": 1,
    "maxLength": MAX_PATH,
    "pattern": r"^[^/\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f]*$",
}


class NewAlias(Body):
    REQUIRED = ("hostname", "path")
    EXAMPLE: ClassVar = {"hostname": "go.example.com", "path": "summer/sale"}

    hostname: Annotated[Text, AfterValidator(names.canonical_or_lower)] | None = field("A custom domain of the account")
    path: Annotated[Text, Documented(_PATH_SCHEMA, AfterValidator(_check_path))] | None = field(
        "Path without a leading slash, not percent-encoded; upper and lower case differ"
    )


class AliasJson(TypedDict):
    id: Annotated[IdText, doc("ID", "01a1fbb2-5e07-7c7a-9d1b-6b0b7a3c9e20")]
    link_id: Annotated[IdText, doc("ID of the link", "01a1fbb2-2855-72ee-8e77-c161c4205e89")]
    hostname: Annotated[str, doc("Hostname, such as go.example.com", "go.brand.com")]
    path: Annotated[str, doc("Path without its leading slash, percent-decoded", "2026/Spring sale")]
    created_at: Annotated[TimestampText, doc("Time of creation", "2026-11-20T02:56:16.123456Z")]


def to_json(alias: Alias) -> AliasJson:
    return json_object(AliasJson, alias)
