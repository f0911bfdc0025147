"""What of a released version's contract breaks in a later one, by the rules of docs/reference/stability.md.

What programs send may be accepted more widely, and what they get may have more fields and values. The reverse breaks
them: something is missing or renamed, something new is required, a type or a limit is stricter.
"""

from collections.abc import Collection, Iterator
from typing import Any

from architecture.json_schema import resolved

Schema = dict[str, Any]
_AT_LEAST = ("minimum", "exclusiveMinimum", "minLength", "minItems")
_AT_MOST = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
_UNBOUND = float("inf")


def breaks(old: Schema, new: Schema, *, is_major: bool = False) -> list[str]:
    """Return what breaks programs that were written for `old`. `is_major`: what was deprecated may be gone."""
    compared = Comparison(old["api"], new["api"], is_major=is_major)
    found = [*compared.api(), *Comparison(old["settings"], new["settings"], is_major=is_major).settings()]
    for kind in ("commands", "tools"):
        for name, sent in old[kind].items():
            at = f"{kind}: {name}"
            if accepted := new[kind].get(name):
                found += Comparison(sent, accepted, is_major=is_major).sent(sent, accepted, at)
            else:
                found.append(f"{at} is gone")
    for kind, names in old["names"].items():
        found += [f"{kind}: {name} is gone" for name in names if name not in new["names"][kind]]
    return found


class Comparison:
    """Of two documents, whose schemas may have references."""

    def __init__(self, old: Schema, new: Schema, *, is_major: bool) -> None:
        self._old, self._new, self._is_major = old, new, is_major
        self._seen: set[tuple[str, str, bool]] = set()

    def api(self) -> Iterator[str]:
        for path, methods in self._old["paths"].items():
            for method, old in methods.items():
                at, new = f"{method.upper()} {path}", self._new["paths"].get(path, {}).get(method)
                if new is None:
                    yield from self._gone(old, at)
                else:
                    yield from self._operation(old, new, at)
        for event, methods in self._old["webhooks"].items():
            if event not in self._new["webhooks"]:
                yield f"event {event} is gone"
            else:
                yield from self._event(methods["post"], self._new["webhooks"][event]["post"], f"event {event}")

    def settings(self) -> Iterator[str]:
        yield from self.sent(self._old, self._new, "setting")

    def sent(self, old: Schema, new: Schema, at: str) -> Iterator[str]:
        """Yield what was accepted and is no longer."""
        old, new, is_known = self._pair(old, new, is_sent=True)
        if is_known:
            return
        if lost := _types(old) - _types(new) - ({"integer"} if "number" in _types(new) else set()):
            yield f"{at} may no longer be {' or '.join(sorted(lost))}"
        yield from _stricter(old, new, at)
        for name in new.get("required", ()):
            if name not in old.get("required", ()):
                yield f"{at}.{name} is required"
        for name, field in old.get("properties", {}).items():
            if name in new.get("properties", {}):
                yield from self.sent(field, new["properties"][name], f"{at}.{name}")
            else:
                yield from self._gone(field, f"{at}.{name}")
        if new.get("additionalProperties") is False and old.get("additionalProperties") is not False:
            yield f"{at} may no longer have other fields"
        yield from self._inner(old, new, at, self.sent)

    def got(self, old: Schema, new: Schema, at: str) -> Iterator[str]:
        """Yield what programs relied on, and no longer get."""
        old, new, is_known = self._pair(old, new, is_sent=False)
        if is_known:
            return
        if more := _types(new) - _types(old) - ({"integer"} if "number" in _types(old) else set()):
            yield f"{at} may also be {' or '.join(sorted(more))}"
        if "enum" in old and "enum" not in new and "const" not in new:
            yield f"{at} may have any value"
        if "enum" in new and (lost := set(old.get("enum", ())) - set(new["enum"])):
            yield f"{at} is no longer {', '.join(sorted(lost))}"
        for keyword in ("format", "const"):
            if keyword in old and old[keyword] != new.get(keyword):
                yield f"{at} has another {keyword}: {old[keyword]} became {new.get(keyword)}"
        for name, field in old.get("properties", {}).items():
            if name not in new.get("properties", {}):
                yield from self._gone(field, f"{at}.{name}")
                continue
            if name in old.get("required", ()) and name not in new.get("required", ()):
                yield f"{at}.{name} may be missing"
            yield from self.got(field, new["properties"][name], f"{at}.{name}")
        yield from self._inner(old, new, at, self.got)

    def _operation(self, old: Schema, new: Schema, at: str) -> Iterator[str]:
        if old["operationId"] != new["operationId"]:
            yield f"{at} has another operation id: {old['operationId']} became {new['operationId']}"
        if old["security"] != new["security"]:
            yield f"{at} needs another scope: {old['security']} became {new['security']}"
        yield from self._parameters(old, new, at)
        body, new_body = old.get("requestBody", {}), new.get("requestBody", {})
        if new_body.get("required") and not body.get("required"):
            yield f"{at} requires a body"
        for kind, content in body.get("content", {}).items():
            if kind not in new_body.get("content", {}):
                yield f"{at} no longer accepts {kind}"
            else:
                yield from self.sent(content["schema"], new_body["content"][kind]["schema"], f"{at} body")
        yield from (
            f"{at} may also answer {status}"
            for status in new["responses"].keys() - old["responses"].keys()
            if status[0] in "23"
        )
        for status, response in old["responses"].items():
            if status not in new["responses"]:
                yield f"{at} no longer answers {status}"
            else:
                yield from self._response(response, new["responses"][status], f"{at} {status}")

    def _response(self, old: Schema, new: Schema, at: str) -> Iterator[str]:
        old, new = _followed(self._old, old), _followed(self._new, new)
        yield from (
            f"{at} lacks the header {name}" for name in old.get("headers", {}) if name not in new.get("headers", {})
        )
        for kind, content in old.get("content", {}).items():
            if kind not in new.get("content", {}):
                yield f"{at} is no longer {kind}"
            else:
                yield from self.got(content["schema"], new["content"][kind]["schema"], at)

    def _event(self, old: Schema, new: Schema, at: str) -> Iterator[str]:
        headers = {each["name"] for each in new["parameters"]}
        yield from (
            f"{at} lacks the header {each['name']}" for each in old["parameters"] if each["name"] not in headers
        )
        bodies = (each["requestBody"]["content"]["application/json"]["schema"] for each in (old, new))
        yield from self.got(*bodies, at)

    def _parameters(self, old: Schema, new: Schema, at: str) -> Iterator[str]:
        before, after = (
            {(each["name"], each["in"]): each for each in operation.get("parameters", ())} for operation in (old, new)
        )
        for key, parameter in after.items():
            if parameter["required"] and not before.get(key, {}).get("required"):
                yield f"{at} requires the parameter {key[0]}"
        for key, parameter in before.items():
            if key not in after:
                yield from self._gone(parameter, f"{at} parameter {key[0]}")
            else:
                yield from self.sent(parameter["schema"], after[key]["schema"], f"{at} parameter {key[0]}")

    def _inner(self, old: Schema, new: Schema, at: str, compare: Any) -> Iterator[str]:
        if "items" in old and "items" in new:
            yield from compare(old["items"], new["items"], f"{at}[]")
        if all(isinstance(each.get("additionalProperties"), dict) for each in (old, new)):
            yield from compare(old["additionalProperties"], new["additionalProperties"], f"{at}.*")

    def _gone(self, old: Schema, at: str) -> Iterator[str]:
        if not (self._is_major and old.get("deprecated")):
            yield f"{at} is gone"

    def _pair(self, old: Schema, new: Schema, *, is_sent: bool) -> tuple[Schema, Schema, bool]:
        """Return the schemas without references, and whether these two named ones were compared before."""
        names = (_reference(old), _reference(new), is_sent)
        is_known = all(names[:2]) and names in self._seen
        self._seen.add(names)
        return _merged(self._old, old), _merged(self._new, new), is_known


def _lacking(old: Collection[str], new: Collection[str], at: str) -> Iterator[str]:
    return (f"{at} lacks the header {name}" for name in old if name not in new)


def _followed(document: Schema, schema: Schema) -> Schema:
    found: Schema = resolved(document, schema["$ref"]) if "$ref" in schema else schema
    return found


def _reference(schema: Schema) -> str:
    """Return the name of the schema, also if it may be null."""
    return next((each["$ref"] for each in (schema, *schema.get("anyOf", ())) if "$ref" in each), "")


def _merged(document: Schema, schema: Schema) -> Schema:
    """Return one schema in place of a reference or of alternatives: their types, and the keywords of all."""
    if "$ref" in schema:
        return _merged(document, resolved(document, schema["$ref"]))
    if "anyOf" not in schema:
        return schema
    options = [_merged(document, each) for each in schema["anyOf"]]
    merged: Schema = {key: value for option in options for key, value in option.items()}
    return schema | merged | {"type": sorted(set().union(*map(_types, options)))}


def _types(schema: Schema) -> set[str]:
    types = schema.get("type", ["string"] if "enum" in schema or "const" in schema else [])
    return set(types if isinstance(types, list) else [types])


def _stricter(old: Schema, new: Schema, at: str) -> Iterator[str]:
    """Yield values that are no longer accepted, and what is meant by a value that is not sent."""
    if "enum" in new and (lost := set(old.get("enum", ["other values"])) - set(new["enum"])):
        yield f"{at} no longer accepts {', '.join(sorted(map(str, lost)))}"
    for keyword in _AT_LEAST:
        if new.get(keyword, -_UNBOUND) > old.get(keyword, -_UNBOUND):
            yield f"{at} has the {keyword} {new[keyword]}, not {old.get(keyword)}"
    for keyword in _AT_MOST:
        if new.get(keyword, _UNBOUND) < old.get(keyword, _UNBOUND):
            yield f"{at} has the {keyword} {new[keyword]}, not {old.get(keyword)}"
    for keyword in ("pattern", "format", "const"):
        if keyword in new and new[keyword] != old.get(keyword):
            yield f"{at} has another {keyword}: {old.get(keyword)} became {new[keyword]}"
    if "default" in old and old["default"] != new.get("default"):
        yield f"{at} has another default: {old['default']} became {new.get('default')}"
