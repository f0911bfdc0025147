"""The client has everything that the OpenAPI document has: operations, parameters, fields, values, errors, events."""

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from architecture.code import ROOT
from architecture.facts import ENDPOINTS
from typescript_client.tools import compile_types, run

from clients.python.generator.document import Document, Operation, Schema
from clients.typescript.generator.modules import NODE_MODULES, PACKAGE, modules, query_name
from docs_site.api_pages import openapi
from waypost.version import VERSION

BASE_URL = "https://go.example.com"

pytestmark = pytest.mark.skipif(not NODE_MODULES.exists(), reason="typescript is missing: make test installs it")


@pytest.fixture(scope="module")
def document() -> Document:
    return Document(openapi())


def test_the_written_modules_are_those_of_the_document(document: Document) -> None:
    """If not: `make client`."""
    for name, text in modules(document).items():
        assert (PACKAGE / name).read_text() == text, name
    assert json.loads((PACKAGE / "package.json").read_text())["version"] == VERSION


def method(operation: Operation) -> str:
    first, *words = operation.name.split("_")
    return f"{operation.group}.{first}{''.join(map(str.capitalize, words))}"


def arguments(document: Document, operation: Operation) -> list[Any]:
    """The document's own examples, as samples give them: IDs, then the body or the parameters."""
    described = _described(document, operation)
    given: list[Any] = [each["example"] for each in operation.parameters if each["in"] == "path"]
    if operation.body:
        content = described["requestBody"]["content"]
        body = content["application/json"]["example"] if "application/json" in content else "image"
        given.append(next(iter(body.values())) if _is_list(body) else body)
    if query := {each["name"]: each["example"] for each in operation.parameters if each["in"] == "query"}:
        given.append(query)
    return given


def _is_list(body: Schema) -> bool:
    return len(body) == 1 and isinstance(next(iter(body.values())), list)


def _described(document: Document, operation: Operation) -> Schema:
    described: Schema = document.content["paths"][f"/api/v1{operation.path}"][operation.method.lower()]
    return described


def _answer(document: Document, operation: Operation) -> Any:
    [content, *_] = [
        each.get("content", {})
        for status, each in _described(document, operation)["responses"].items()
        if status[0] == "2"
    ]
    return content.get("application/json", {}).get("example")


def _newer(value: Any) -> Any:
    """The answer of a service that has more fields and values."""
    if isinstance(value, dict):
        return {name: _newer(each) for name, each in value.items()} | {"new_field": {"a": 1}}
    if isinstance(value, list):
        return [_newer(each) for each in value]
    return "something_new" if isinstance(value, str) and value.isalpha() and value.islower() else value


CALL = """
import { Waypost } from "@waypost/client";

const calls = JSON.parse(process.env.CALLS);
const made = [];
for (const { method, given, answers } of calls) {
  for (const answer of answers) {
    let request;
    const fetch = async (url, init) => {
      request = { method: init.method, url: String(url), headers: Object.fromEntries(init.headers), body: init.body };
      return answer === null ? new Response(null, { status: 204 }) : Response.json(answer);
    };
    const waypost = new Waypost({ baseUrl: "https://go.example.com", apiKey: "wp_live_key", fetch });
    const [group, name] = method.split(".");
    let result = waypost[group][name](...given);
    result = "pages" in result ? (await result.pages().next()).value : await result;
    made.push({ method, request, result: result ?? null });
  }
}
console.log(JSON.stringify(made));
"""


def test_sends_what_the_document_describes_and_returns_all_of_it(document: Document, consumer: Path) -> None:
    """With the document's own examples, and with those of a newer service."""
    operations = [each for each in document.operations() if each.needs_key]
    assert len(operations) == len(ENDPOINTS)
    calls = [
        {
            "method": method(each),
            "given": arguments(document, each),
            "answers": [answer, _newer(answer) | {"data": _newer(answer["data"])}] if answer else [None],
        }
        for each in operations
        for answer in [_answer(document, each)]
    ]
    for each in calls:
        for answer in each["answers"][1:]:
            if "meta" in answer:  # numbers of pages
                answer["meta"] = each["answers"][0]["meta"]
    (consumer / "document.js").write_text(CALL)
    made = iter(json.loads(run("document.js", consumer, CALLS=json.dumps(calls, default=str))))
    for operation, call in zip(operations, calls, strict=True):
        for answer in call["answers"]:
            done = next(made)
            _check_request(document, operation, done["request"])
            is_whole = answer and "meta" in answer
            expected = answer and ({name: answer[name] for name in ("data", "meta")} if is_whole else answer["data"])
            got = {name: done["result"][name] for name in ("data", "meta")} if is_whole else done["result"]
            assert got == ({} if operation.is_file else expected), call["method"]


def _check_request(document: Document, operation: Operation, sent: dict[str, Any]) -> None:
    ids = {each["name"]: each["example"] for each in operation.parameters if each["in"] == "path"}
    url = urlsplit(sent["url"])
    assert (sent["method"], url.path) == (operation.method, f"/api/v1{operation.path}".format_map(ids))
    query = {
        each["name"]: texts if isinstance(texts := each["example"], list) else [str(texts).replace("True", "true")]
        for each in operation.parameters
        if each["in"] == "query"
    }
    assert parse_qs(url.query) == query
    assert ("idempotency-key" in sent["headers"]) == (operation.method == "POST")
    assert sent["headers"]["authorization"] == "Bearer wp_live_key"
    example = _described(document, operation)["requestBody"]["content"] if operation.body else None
    if example and "application/json" not in example:
        assert sent["headers"]["content-type"].startswith("multipart/form-data; boundary=")
        return
    assert json.loads(sent.get("body") or "null") == (example and example["application/json"]["example"])


def test_samples_and_types_compile(document: Document, consumer: Path) -> None:
    """The samples of /docs, and a program that requires each type to be that of the document."""
    files = []
    for operation in document.operations():
        for sample in _described(document, operation)["x-codeSamples"]:
            if sample["lang"] == "typescript":
                path = consumer / f"sample-{method(operation)}.ts"
                path.write_text(sample["source"])
                files.append(path.name)
    assert len(files) == len(ENDPOINTS)
    (consumer / "signatures.ts").write_text("\n".join(_signatures(document)))
    assert compile_types(*files, "signatures.ts", cwd=consumer) == []


def _signatures(document: Document) -> list[str]:
    """One line for each operation, which compiles if the method has exactly the types of the document."""
    lines = [
        'import type * as types from "@waypost/client";',
        "declare const waypost: types.Waypost;",
        "type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;",
        "const isTrue = <T extends true>(): T | undefined => undefined;",
    ]
    for each in (each for each in document.operations() if each.needs_key):
        kinds = ["string" for parameter in each.parameters if parameter["in"] == "path"]
        if each.body:
            kinds.append(_body_type(document, each))
        if any(parameter["in"] == "query" for parameter in each.parameters):
            kinds.append(f"types.{query_name(each)}")
        taken = {"Create": each.takes_idempotency_key, "Change": each.takes_if_match}
        options = [f"types.{kind}Options" for kind, is_taken in taken.items() if is_taken]
        kinds.append(" & ".join(options) or "types.CallOptions")
        lines += [
            f"isTrue<Same<Required<Parameters<typeof waypost.{method(each)}>>, [{', '.join(kinds)}]>>();",
            f"isTrue<Same<ReturnType<typeof waypost.{method(each)}>, {_result_type(document, each)}>>();",
        ]
    return lines


def _body_type(document: Document, operation: Operation) -> str:
    properties = document.schemas[operation.body or ""]["properties"]
    if len(properties) == 1 and "items" in (only := next(iter(properties.values()))):
        item = only["items"].get("$ref", "").rpartition("/")[2]
        return f"readonly types.{item}[]" if item else "readonly string[]"
    if operation.form == operation.body:
        return "types.ImageFile"
    return f"types.WithImage<types.{operation.body}>" if operation.form else f"types.{operation.body}"


def _result_type(document: Document, operation: Operation) -> str:
    if operation.is_file:
        return "Promise<Uint8Array<ArrayBuffer>>"
    if operation.answer is None:
        return "Promise<void>"
    properties = document.schemas[operation.answer]["properties"]
    data = properties["data"]
    if set(properties) == {"data"}:
        name = (data.get("$ref") or data["items"]["$ref"]).rpartition("/")[2]
        return f"Promise<types.{name}{'[]' * ('items' in data)}>"
    if "links" in properties:
        return f"types.Pages<types.{data['items']['$ref'].rpartition('/')[2]}>"
    return f"Promise<types.{operation.answer}>"


def test_each_error_and_event_has_a_type(document: Document) -> None:
    index = (ROOT / "clients" / "typescript" / "src" / "index.ts").read_text()
    responses = (ROOT / "clients" / "typescript" / "src" / "responses.ts").read_text()
    names = set(re.findall(r"\w+", index[index.index("export {\n") : index.index('} from "./errors.js"')]))
    codes = {"".join(map(str.capitalize, code.split("_"))) for code in document.schemas["ErrorCode"]["enum"]}
    assert codes - {"MethodNotAllowed", "HttpError"} <= names
    without_class = {
        "304",
        "405",
        "409",
        "412",
        "413",
        "500",
        "503",
        "default",
    }  # 5xx are a ServerError, others a WaypostError
    for path, methods in document.content["paths"].items():
        for described in methods.values():
            errors = {status for status in described["responses"] if status[0] != "2"} - without_class
            assert errors <= set(re.findall(r"case (\d+):", responses)), path
    events = (PACKAGE / "src" / "types.ts").read_text().partition("export type WebhookEvent = ")[2]
    assert set(document.events().values()) == set(re.findall(r"\w+", events))
