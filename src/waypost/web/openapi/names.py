"""Names in the OpenAPI document, after which generated clients name their types and methods."""

import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any, Literal, get_args, get_origin, get_type_hints

from typing_extensions import is_typeddict

_OTHER = {
    "ChangedMeta": "BulkUpdateMeta",
    "ChangedRow": "BulkUpdateRow",
    "ChangedRows": "BulkUpdateResponse",
    "Comparison": "StatsComparison",
    "CreatedMeta": "BulkCreateMeta",
    "CreatedRow": "BulkCreateRow",
    "CreatedRows": "BulkCreateResponse",
    "DeletedMeta": "BulkDeleteMeta",
    "DeletedRow": "BulkDeleteRow",
    "DeletedRows": "BulkDeleteResponse",
    "Errors": "FieldErrors",
    "Interval": "StatsInterval",
    "LinkChanges": "BulkUpdate",
    "LinkIds": "BulkDelete",
    "LinkSet": "BulkUpdateSet",
    "ListedApiKeyList": "ApiKeyList",
    "NewLinks": "BulkCreate",
    "NewArchive": "QrCodeArchive",
    "NewSheet": "QrCodeSheet",
    "NewStyle": "QrCodeStyle",
    "Operator": "ConditionOperator",
    "Platform": "PixelPlatform",
    "TestEvent": "TestEventData",
}
"""Names in the code that say too little in the document, or the same as another."""
_WRAPPER = re.compile(r"(Data|Paginated)_(list_)?(\w+?)Json_+")
_INPUT = re.compile(r"New(?P<Create>\w+)|(?P<Update>\w+)Change|(?P<Upsert>\w+)Sync|(?P<Input>\w+)Fields")


def is_wrapper(name: str) -> bool:
    """Return whether a model is `{"data": …}` of one object, or of a page of objects."""
    wrapped = _WRAPPER.fullmatch(name)
    return wrapped is not None and not (wrapped[1] == "Data" and wrapped[2])


def schema_name(name: str) -> str:
    """Return the name of what is returned, such as `Link`, `LinkPage` or `LinkResponse`, from that of its model."""
    if wrapped := _WRAPPER.fullmatch(name):
        kind, is_list, content = wrapped.groups()
        name = content + ("Page" if kind == "Paginated" else "List" if is_list else "Response")
    name = name.removesuffix("Json")
    return _OTHER.get(name, name)


def input_name(name: str) -> str:
    """Return the name of a request body, such as `LinkCreate`, from that of its model, such as `NewLink`."""
    if name in _OTHER:
        return _OTHER[name]
    kind = _INPUT.fullmatch(name)
    if kind is None:
        raise ValueError(name)
    return "".join(f"{noun}{verb}" for verb, noun in kind.groupdict().items() if noun)


def event_name(event_type: str) -> str:
    """Return the name of the body of an event, such as `LinkCreatedEvent`."""
    return f"{pascal_case(event_type.replace('.', '_'))}Event"


def pascal_case(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


def enum_names(models: Iterable[Any]) -> dict[tuple[Any, ...], str]:
    """Return the names of the `Literal` types in the modules of these models, by their values."""
    modules = {sys.modules[module] for model in models for module in _modules(model)}
    named = [
        (get_args(value), name)
        for module in modules
        for name, value in vars(module).items()
        if get_origin(value) is Literal and not name.startswith("_")
    ]
    return {values: schema_name(name) for values, name in named}


def _modules(model: Any) -> Iterator[str]:
    """Yield the modules of a model and of those in it."""
    for argument in get_args(model):
        yield from _modules(argument)
    kind = get_origin(model) or model
    if hasattr(kind, "__module__"):
        yield kind.__module__
    if is_typeddict(kind):
        for hint in get_type_hints(kind).values():
            yield from _modules(hint)
