"""The fields of a new alias, and the JSON of an alias."""

from typing import Annotated, ClassVar

from pydantic import AfterValidator
from typing_extensions import TypedDict

from waypost.kit.clock import timestamp
from waypost.kit.fields import Body, Documented, IdText, Text, TimestampText
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

    hostname: Annotated[Text, AfterValidator(names.canonical_or_lower)] | None = None
    path: Annotated[Text, Documented(_PATH_SCHEMA, AfterValidator(_check_path))] | None = None


class AliasJson(TypedDict):
    id: IdText
    link_id: IdText
    hostname: str
    path: str
    created_at: TimestampText


def to_json(alias: Alias) -> AliasJson:
    return {
        "id": str(alias.id),
        "link_id": str(alias.link_id),
        "hostname": alias.hostname,
        "path": alias.path,
        "created_at": timestamp(alias.created_at),
    }
