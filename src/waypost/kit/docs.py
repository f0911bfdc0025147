"""What the OpenAPI document says of a field of a body or of a response, written at the field itself.

The first example is the value in the example of the whole object; the field shows the first that has content. The
objects of a list are examples themselves: an example of such a list is an entry that follows theirs.
"""

from typing import Any

from pydantic import BaseModel, Field

from waypost.kit.deprecation import Deprecation


def doc(description: str, *examples: Any, deprecated: Deprecation | None = None) -> Any:
    """Describe a field of a response, in its `Annotated`."""
    return Field(description=description, examples=list(examples) or None, json_schema_extra=deprecated)


def field(description: str, *examples: Any, deprecated: Deprecation | None = None, **options: Any) -> Any:
    """Return the default None of a field of a body, with its description. `options`: those of pydantic."""
    return Field(
        None, description=description, examples=list(examples) or None, json_schema_extra=deprecated, **options
    )


def doc_as(body: type[BaseModel], name: str, *examples: Any) -> Any:
    """Describe a field of a response, or of another body, as that of a body. `examples`: those before its own."""
    sent = body.model_fields[name]
    extra = sent.json_schema_extra
    deprecated = extra if isinstance(extra, Deprecation) else None
    return doc(sent.description or "", *examples, *(sent.examples or ()), deprecated=deprecated)
