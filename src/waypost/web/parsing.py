"""From fields to a model: what is right is kept, what is wrong is told field by field in plain words."""

from collections import Counter
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from waypost.kit.errors import Problems

M = TypeVar("M", bound=BaseModel)

_TOLD = 100
"""Messages of one field: thousands of wrong entries are neither all told, nor do they hide what is wrong elsewhere."""

_MESSAGES = {
    "string_type": "This must be a string.",
    "int_type": "This must be an integer.",
    "int_parsing": "This must be an integer.",
    "bool_type": "This must be true or false.",
    "list_type": "This must be a list.",
    "dict_type": "This must be an object.",
    "model_type": "This must be an object.",
    # files are the only class whose instances a body can hold
    "is_instance_of": "This must be a file: send it as a multipart/form-data part with a filename.",
    "missing": "This is required.",
    "string_too_long": "This may have at most {max_length} characters.",
    "string_too_short": "This must have at least {min_length} characters.",
    "string_unicode": "This must be valid Unicode text.",
    "too_long": "This may have at most {max_length} entries.",
    "too_short": "This must have at least {min_length} entries.",
    "literal_error": "This must be one of: {expected}.",
    "greater_than_equal": "This must be at least {ge}.",
    "less_than_equal": "This may be at most {le}.",
}


def parse(model: type[M], fields: Mapping[str, Any]) -> tuple[M, Problems]:
    """The model of all fields that are right, and what is wrong with the others. The model's fields need defaults."""
    try:
        return model.model_validate(fields), Problems()
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False)
    failed = {detail["loc"][0] for detail in details}
    kept = {name: value for name, value in fields.items() if name not in failed}
    return model.model_validate(kept), told(details)


def told(details: list[ErrorDetails]) -> Problems:
    problems, seen = Problems(), Counter[int | str]()
    for detail in details:
        seen[detail["loc"][0]] += 1
        if seen[detail["loc"][0]] <= _TOLD:
            problems.add(".".join(str(part) for part in detail["loc"] if part != "[key]"), message(detail))
    return problems


def message(detail: ErrorDetails) -> str:
    kind, context = detail["type"], detail.get("ctx", {})
    if kind == "value_error":  # one of `web.fields` or of the model itself
        return str(context["error"])
    if kind == "literal_error":
        context = {"expected": context["expected"].replace("'", "").replace(" or ", ", ")}
    if kind in {"too_long", "too_short"} and context["field_type"] == "Value":  # text that was checked before
        kind = f"string_{kind}"
    return _MESSAGES.get(kind, "This is not valid.").format(**context)
