"""The page with the app links of a domain."""

import json
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from waypost.kit.errors import Errors, Invalid
from waypost.kit.fields import parse
from waypost.resources.domains import names
from waypost.resources.domains.app_links import service
from waypost.resources.domains.app_links.documents import NOT_JSON, TOO_DEEP, find_hints, load
from waypost.resources.domains.app_links.schemas import APPLE_EXAMPLE, GOOGLE_EXAMPLE, AppLinksFields
from waypost.resources.domains.app_links.store import APP_LINKS
from waypost.resources.domains.deps import WebDeps
from waypost.web.body import RepeatedKey, load_json
from waypost.web.dashboard import EditForm, Form, PageCall, Pages, redirect

_PATH = "/domains/{id}/app-links"
_REPEATED_KEY = "An object has a key twice. Remove one of them."
_EXAMPLES = {"apple_app_site_association": APPLE_EXAMPLE, "assetlinks": GOOGLE_EXAMPLE}


def _shown(documents: Mapping[str, Any]) -> Form:
    return Form({name: "" if document is None else _indented(document) for name, document in documents.items()})


_EDIT = EditForm(
    APP_LINKS.get,
    lambda texts, _: _shown({name: load(text) if text else None for name, text in texts._asdict().items()}),
    lambda sent: _shown(_load_documents(sent)[0]),
    labels={"apple_app_site_association": "apple-app-site-association", "assetlinks": "assetlinks.json"},
)


class AppLinksPages(Pages[WebDeps]):
    def endpoints(self) -> list[Route]:
        return [self.get(_PATH, self.show, "view"), self.form(_PATH, self.save, "domains.write", self.show, edit=_EDIT)]

    async def show(self, call: PageCall) -> Response:
        domain, texts = await APP_LINKS.get_with_domain(self._deps, call.session, call.id)
        errors = call.error.errors if isinstance(call.error, Invalid) else {}
        return call.render(
            "domains/app_links.html",
            _EDIT.show(texts, call.preferences),
            domain=domain,
            readable=names.readable,
            served=texts,
            examples={name: _indented(example) for name, example in _EXAMPLES.items()},
            found={name: _places(name, errors) for name in _EXAMPLES},
            hints={name: _places("", hints.errors) for name, hints in find_hints(texts).items() if not call.error},
        )

    async def save(self, call: PageCall) -> Response:
        domain, _ = await APP_LINKS.get_with_domain(self._deps, call.session, call.id)
        self._auth.require_active_plan(call.session)
        documents, malformed = _load_documents(call.form)
        new, problems = parse(AppLinksFields, documents)
        problems.errors.update(malformed)
        await service.save(self._deps, call.session, domain.id, new, problems)
        return redirect(f"/domains/{domain.id}/app-links", "saved")


def _load_documents(form: Form) -> tuple[dict[str, Any], Errors]:
    documents: dict[str, Any] = {}
    errors: Errors = {}
    for name in _EXAMPLES:
        try:
            documents[name] = load_json(form.text(name) or "null")
        except RepeatedKey:
            errors[name] = [_REPEATED_KEY]
        except RecursionError:
            errors[name] = [TOO_DEEP]
        except json.JSONDecodeError as error:
            errors[name] = [f"{NOT_JSON} Line {error.lineno}, column {error.colno}: {error.msg}."]
        except ValueError:  # a number that JSON does not have
            errors[name] = [NOT_JSON]
    return documents, errors


def _places(name: str, errors: Errors) -> list[tuple[str, str]]:
    """Return (place in the document, message) of the errors of a document."""
    found = []
    for key, messages in errors.items():
        if not name or key == name or key.startswith(f"{name}."):
            place = key.removeprefix(name).removeprefix(".")
            found += [(place, message) for message in messages]
    return found


def _indented(document: Any) -> str:
    return json.dumps(document, ensure_ascii=False, indent=2)
