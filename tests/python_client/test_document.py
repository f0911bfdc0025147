"""The client has everything that the OpenAPI document has: operations, parameters, fields, values, errors, events."""

import functools
import hashlib
import hmac
import inspect
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
import waypost_client
from architecture.facts import ENDPOINTS
from waypost_client import (
    AsyncPages,
    AsyncWaypost,
    Event,
    Page,
    Pages,
    ServerError,
    ValidationError,
    Waypost,
    WaypostError,
    to_json,
    verify_webhook,
)
from waypost_client._responses import ERRORS

from clients.python.generator.document import Document, Operation, python_name
from clients.python.generator.modules import PACKAGE, modules
from docs_site.api_pages import openapi

BASE_URL = "https://go.example.com"
KEY = "wp_live_key"


@pytest.fixture(scope="module")
def document() -> Document:
    return Document(openapi())


def test_the_written_modules_are_those_of_the_document(document: Document) -> None:
    """If not: `python -m clients.python.generator`."""
    for name, text in modules(document).items():
        assert (PACKAGE / name).read_text() == text, name


def test_has_a_method_for_each_operation(document: Document) -> None:
    operations = list(document.operations())
    assert len(operations) == len(ENDPOINTS) + 1  # that of images, which has no key
    with Waypost(BASE_URL, KEY) as client:
        for each in operations:
            for one in (client, AsyncWaypost(BASE_URL, KEY)):
                assert callable(getattr(getattr(one, each.group), each.name)), each


def test_sends_what_the_document_describes_and_reads_all_of_it(document: Document) -> None:
    """With the document's own examples: nothing of a request or of a response is lost."""
    for operation in document.operations():
        if operation.needs_key:
            described = _described(document, operation)
            sent, result = _call(operation, described)
            _check_request(operation, described, sent)
            example = _success(described).get("application/json", {}).get("example", {})
            is_whole = set(example) == {"data", "meta"}
            expected = example if is_whole else example.get("data")
            assert result == b"" if operation.is_file else to_json(_plain(result)) == expected, operation


def _described(document: Document, operation: Operation) -> Mapping[str, Any]:
    described = document.content["paths"][f"/api/v1{operation.path}"][operation.method.lower()]
    assert isinstance(described, dict)
    return described


def _success(described: Mapping[str, Any]) -> Mapping[str, Any]:
    [content, *_] = [each.get("content", {}) for status, each in described["responses"].items() if status[0] == "2"]
    return content


def _call(operation: Operation, described: Mapping[str, Any]) -> tuple[httpx.Request, Any]:
    sent: list[httpx.Request] = []
    transport = _transport(described, sent)
    with httpx.Client(transport=transport) as http:
        method = getattr(getattr(Waypost(BASE_URL, KEY, http_client=http), operation.group), operation.name)
        ids, named = _arguments(operation, described)
        result = method(*ids, **named)
        assert set(inspect.signature(method).parameters) >= _fields(operation, described)
        pages = [next(result.pages())] if isinstance(result, Pages) else [result]
    return sent[0], pages[0]


def _transport(described: Mapping[str, Any], sent: list[httpx.Request]) -> httpx.MockTransport:
    """Answers with the example of the document."""

    def respond(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        example = _success(described).get("application/json", {}).get("example")
        return httpx.Response(204) if example is None else httpx.Response(200, json=example)

    return httpx.MockTransport(respond)


def _arguments(operation: Operation, described: Mapping[str, Any]) -> tuple[list[str], dict[str, Any]]:
    ids = [each["example"] for each in operation.parameters if each["in"] == "path"]
    query = {python_name(each["name"]): each["example"] for each in operation.parameters if each["in"] == "query"}
    content = described["requestBody"]["content"] if operation.body else {}
    body = content["application/json"]["example"] if "application/json" in content else {}
    return ids, query | body | ({"file": b"image"} if content and not body else {})


async def test_the_asynchronous_client_sends_and_reads_the_same(document: Document) -> None:
    for operation in document.operations():
        if operation.needs_key:
            described = _described(document, operation)
            sent, result = _call(operation, described)
            also_sent, also_result = await _call_async(operation, described)
            assert (also_sent.method, also_sent.url, _content(also_sent)) == (sent.method, sent.url, _content(sent))
            assert also_result == result, operation


async def _call_async(operation: Operation, described: Mapping[str, Any]) -> tuple[httpx.Request, Any]:
    sent: list[httpx.Request] = []
    transport = _transport(described, sent)
    async with httpx.AsyncClient(transport=transport) as http:
        client = AsyncWaypost(BASE_URL, KEY, http_client=http)
        ids, named = _arguments(operation, described)
        called = getattr(getattr(client, operation.group), operation.name)(*ids, **named)
        result = await anext(called.pages()) if isinstance(called, AsyncPages) else await called
    return sent[0], result


def _content(request: httpx.Request) -> bytes:
    """Without the boundary of a form, which is random."""
    return request.content.replace(request.headers.get("content-type", "").rpartition("boundary=")[2].encode(), b"")


def _fields(operation: Operation, described: Mapping[str, Any]) -> set[str]:
    """Names of the arguments."""
    names = {each["name"] for each in operation.parameters} - {"Idempotency-Key", "If-None-Match", "If-Match"}
    forms = {"og_image_file"} if operation.form and operation.form != operation.body else set()
    keys = {"idempotency_key"} if operation.takes_idempotency_key else set()
    matches = {"if_match"} if operation.takes_if_match else set()
    return {python_name(name) for name in names} | forms | keys | matches


def _check_request(operation: Operation, described: Mapping[str, Any], sent: httpx.Request) -> None:
    ids = {each["name"]: each["example"] for each in operation.parameters if each["in"] == "path"}
    url = urlsplit(str(sent.url))
    assert (sent.method, url.path) == (operation.method, f"/api/v1{operation.path}".format_map(ids))
    query = {
        each["name"]: texts if isinstance(texts := each["example"], list) else [str(texts).replace("True", "true")]
        for each in operation.parameters
        if each["in"] == "query"
    }
    assert parse_qs(url.query) == query
    assert ("idempotency-key" in sent.headers) == (operation.method == "POST")
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    if operation.body == operation.form and operation.form:
        assert b'name="file"; filename="image"' in sent.content
    elif operation.body:
        assert json.loads(sent.content) == described["requestBody"]["content"]["application/json"]["example"]
    else:
        assert sent.content == b""


def _plain(result: Any) -> Any:
    """A page as its response, without the URLs of other pages."""
    return result.data if isinstance(result, Page) else result


def test_the_samples_of_the_document_run(document: Document, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WAYPOST_API_KEY", KEY)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "logo.png").write_bytes(b"image")
    ran = 0
    for operation in document.operations():
        described = _described(document, operation)
        example = _success(described).get("application/json", {}).get("example")
        answer = httpx.Response(204) if example is None else httpx.Response(200, json=example)
        with httpx.Client(transport=httpx.MockTransport(lambda _, a=answer: a)) as http:
            monkeypatch.setattr(waypost_client, "Waypost", functools.partial(Waypost, http_client=http))
            for sample in described["x-codeSamples"]:
                if sample["lang"] == "python":
                    exec(sample["source"], {})
                    ran += 1
    assert ran == len(ENDPOINTS)


def test_every_field_of_a_body_is_an_argument(document: Document) -> None:
    with Waypost(BASE_URL, KEY) as client:
        for operation in document.operations():
            if operation.body:
                method = getattr(getattr(client, operation.group), operation.name)
                fields = {python_name(name) for name in document.schemas[operation.body]["properties"]}
                assert set(inspect.signature(method).parameters) >= fields, operation


def test_each_error_has_a_class(document: Document) -> None:
    """Those that callers tell apart by class; others are a `WaypostError` with a status."""
    without_class = {"405", "409", "412", "413", "default", "304"}
    for path, methods in document.content["paths"].items():
        for described in methods.values():
            errors = {status for status in described["responses"] if status[0] != "2"}
            assert {int(status) for status in errors - without_class} <= set(ERRORS), path
    names = {
        name for name, each in vars(waypost_client).items() if isinstance(each, type) and issubclass(each, WaypostError)
    }
    codes = set(document.schemas["ErrorCode"]["enum"])
    classes = {"".join(word.capitalize() for word in code.split("_")) for code in codes}
    assert classes - {"MethodNotAllowed", "HttpError"} <= names
    assert names == set(waypost_client.__all__) & names


def test_errors_of_each_status_are_read(document: Document) -> None:
    for status, kind in {**ERRORS, 500: ServerError, 409: WaypostError, 413: WaypostError}.items():
        error = {"code": "code", "message": "Why.", "errors": {"slug": ["Taken."]}}
        answer = {"message": "Why."} if status == 406 else {"error": error}
        transport = httpx.MockTransport(lambda _, s=status, a=answer: httpx.Response(s, json=a))
        with httpx.Client(transport=transport) as http, pytest.raises(WaypostError) as caught:
            Waypost(BASE_URL, KEY, retries=0, http_client=http).account.get()
        assert (type(caught.value), caught.value.status, caught.value.message) == (kind, status, "Why.")
        if isinstance(caught.value, ValidationError):
            assert caught.value.errors == ({"hostname": ["Why."]} if status == 406 else {"slug": ["Taken."]})


def test_reads_each_event(document: Document) -> None:
    for kind, described in document.content["webhooks"].items():
        example = described["post"]["requestBody"]["content"]["application/json"]["example"]
        body, at = json.dumps(example).encode(), int(time.time())
        signature = hmac.new(b"whsec_1", f"{at}.".encode() + body, hashlib.sha256).hexdigest()
        event = verify_webhook(body, {"X-Signature": f"t={at},v1={signature}"}, "whsec_1")
        assert type(event) is not Event, kind
        assert (event.event, to_json(event.data)) == (kind, example["data"])


def test_newer_and_older_services_do_not_break_results(document: Document) -> None:
    """Unknown fields and values are accepted, and missing fields are None, or empty lists."""
    for operation in document.operations():
        if operation.needs_key and operation.answer:
            described = dict(_described(document, operation))
            for change in (_newer, _older):
                changed = json.loads(json.dumps(described))
                content = _success(changed)["application/json"]
                payload = content["example"]
                content["example"] = {**payload, "data": change(payload["data"])}
                if "meta" in payload:
                    content["example"]["meta"] = payload["meta"]
                _call(operation, changed)


def _newer(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _newer(each) for name, each in value.items()} | {"new_field": {"a": 1}}
    if isinstance(value, list):
        return [_newer(each) for each in value]
    is_word = isinstance(value, str) and value.isalpha() and value.islower()
    return "something_new" if is_word else value


def _older(value: Any) -> Any:
    return [_older(each) for each in value] if isinstance(value, list) else {"id": value.get("id")}
