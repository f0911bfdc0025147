"""A resource is added by the list in CONTRIBUTING.md, and by nothing else."""

from pathlib import Path

from architecture.by_list import VERSIONS, Edits, check_imports, edited_copy, listed_files, migration, run_tests

SOURCE = "src/waypost"
NOTES = f"{SOURCE}/resources/notes"
EDITS: Edits = {
    f"{SOURCE}/packages.py": [
        (
            "from waypost.resources.links.resource import RESOURCE as LINKS\n",
            "from waypost.resources.notes.resource import RESOURCE as NOTES\n",
        ),
        ("    PIXELS,\n", "    NOTES,\n"),
    ],
    "pyproject.toml": [('    "waypost.resources.links",\n', '    "waypost.resources.notes",\n')],
    f"{SOURCE}/accounts/roles.py": [
        ('    "webhooks:manage",\n', '    "notes:manage",\n'),
        ('    "pixels.write",\n', '    "notes.write",\n'),
        (
            '    "pixels.write": ("admin", "Add, change and delete pixels"),\n',
            '    "notes.write": ("editor", "Add notes"),\n',
        ),
        ('    "pixels:write": "pixels.write",\n', '    "notes:manage": "notes.write",\n'),
    ],
    f"{SOURCE}/audit/actions.py": [
        ('    "pixel.deleted",\n', '    "note.created",\n'),
        ('    "pixel.deleted": "Pixel deleted",\n', '    "note.created": "Note added",\n'),
    ],
    f"{SOURCE}/web/openapi/descriptions.py": [
        ("GROUPS = {\n", '    "notes": EndpointGroup("Notes", "Notes of the account.", "note", "Note"),\n')
    ],
    f"{SOURCE}/accounts/data/archive/contents.py": [
        ("webhooks.ndjson        webhooks (without their secrets)\n", "notes.ndjson           notes\n")
    ],
    f"{SOURCE}/web/dashboard/navigation.py": [
        ('Section("/pixels", "Pixels", "pixel"),\n', 'Section("/notes", "Notes", "pixel"),\n')
    ],
    f"{SOURCE}/settings/reserved.py": [('    "dashboard", "design", "links",', ' "notes",')],
    f"{SOURCE}/web/dashboard/notices.py": [('    "saved": "Changes saved.",\n', '    "note-added": "Note added.",\n')],
}
FILES = {
    "__init__.py": "",
    "model.py": """
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import Column, Index, Table, Text

from waypost.database import Id, metadata

notes = Table(
    "notes",
    metadata,
    Column("id", Id, primary_key=True),
    Column("account_id", Id, nullable=False),
    Column("text", Text, nullable=False),
)
Index("ix_notes_account", notes.c.account_id)


@dataclass(frozen=True, slots=True)
class Note:
    id: UUID
    account_id: UUID
    text: str
""",
    "schemas.py": """
from typing import Annotated, ClassVar

from typing_extensions import TypedDict

from waypost.kit.docs import doc, field
from waypost.kit.fields import NOT_BLANK, Body, IdText, Text, max_characters
from waypost.resources.notes.model import Note


class NewNote(Body):
    REQUIRED = ("text",)
    EXAMPLE: ClassVar = {"text": "Ask Ada"}
    text: Annotated[Text, max_characters(255), NOT_BLANK] | None = field("Text")


class NoteJson(TypedDict):
    id: Annotated[IdText, doc("ID", "01a1fbb2-5e07-7c7a-9d1b-6b0b7a3c9e10")]
    text: Annotated[str, doc("Text", "Ask Ada")]


def to_json(note: Note) -> NoteJson:
    return {"id": str(note.id), "text": note.text}
""",
    "service.py": """
from dataclasses import asdict

from sqlalchemy import select

from waypost import audit
from waypost.accounts import Caller
from waypost.audit import Item
from waypost.context import Context
from waypost.kit.errors import Invalid, Problems
from waypost.kit.ids import new_id
from waypost.resources.notes.model import Note, notes
from waypost.resources.notes.schemas import NewNote


async def create(context: Context, caller: Caller, new: NewNote, problems: Problems) -> Note:
    new.check_required(problems)
    if problems or new.text is None:
        raise Invalid(problems.errors)
    note = Note(new_id(), caller.account.id, new.text)
    async with caller.commit(context.db) as tx:
        await tx.execute(notes.insert(), asdict(note))
        await audit.record(tx, caller.actor, "note.created", context.clock(), Item(note.id, note.text))
    return note


async def list_notes(context: Context, caller: Caller) -> list[Note]:
    async with context.db.read() as tx:
        rows = await tx.execute(select(notes).where(notes.c.account_id == caller.account.id))
    return [Note(*row) for row in rows]
""",
    "api.py": '''
from waypost.accounts import Caller
from waypost.context import Context
from waypost.kit.errors import Problems
from waypost.resources.notes import service
from waypost.resources.notes.schemas import NewNote, NoteJson, to_json
from waypost.web import Data, Endpoint


async def create(context: Context, caller: Caller, new: NewNote, problems: Problems) -> NoteJson:
    """Members of the account see it."""
    return to_json(await service.create(context, caller, new, problems))


async def list_(context: Context, caller: Caller) -> list[NoteJson]:
    """In no order."""
    return [to_json(note) for note in await service.list_notes(context, caller)]


ENDPOINTS = [
    Endpoint("GET", "/notes", list_, "List notes", "notes:manage", Data[list[NoteJson]]),
    Endpoint("POST", "/notes", create, "Create a note", "notes:manage", Data[NoteJson], 201, body=NewNote),
]
''',
    "pages.py": """
from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from waypost.context import Context
from waypost.kit.fields import parse
from waypost.resources.notes import service
from waypost.resources.notes.schemas import NewNote
from waypost.web.dashboard import PageCall, Pages, redirect, shows


class NotePages(Pages[Context]):
    def endpoints(self) -> list[Route]:
        page = shows("notes/list.html", self._find)
        return [self.get("/notes", page, "view"), self.form("/notes", self.create, "notes.write", page)]

    async def create(self, call: PageCall) -> Response:
        await service.create(self._deps, call.session, *parse(NewNote, call.form.fields))
        return redirect("/notes", "note-added")

    async def _find(self, call: PageCall) -> dict[str, Any]:
        return {"notes": await service.list_notes(self._deps, call.session)}
""",
    "templates/list.html": """
{% extends "frame/layout.html" %}
{% from "frame/macros.html" import field %}
{% block title %}Notes{% endblock %}
{% block content %}
{% for note in notes %}<p>{{ note.text }}</p>{% endfor %}
{% if may("notes.write") %}
<form method="post">{{ field(form, "text", "Text") }}<button>Add note</button></form>
{% endif %}
{% endblock %}
""",
    "account_data.py": """
from collections.abc import AsyncIterator
from uuid import UUID

from sqlalchemy import select

from waypost.context import Context
from waypost.resources.notes.model import Note, notes
from waypost.resources.notes.schemas import NoteJson, to_json


async def read_notes(context: Context, account_id: UUID) -> AsyncIterator[list[NoteJson]]:
    async with context.db.read() as tx:
        rows = await tx.execute(select(notes).where(notes.c.account_id == account_id))
    yield [to_json(Note(*row)) for row in rows]
""",
    "resource.py": """
from typing import TYPE_CHECKING

from waypost.resource import Resource, Web
from waypost.resources.notes import account_data
from waypost.resources.notes.model import notes

if TYPE_CHECKING:
    from waypost.web import Endpoints


def _endpoints(web: Web) -> "Endpoints":
    from waypost.resources.notes import api, pages
    from waypost.web import Endpoints

    of_pages = pages.NotePages(web.context, web.auth, web.views).endpoints()
    return Endpoints([(web.context, api.ENDPOINTS)], of_pages)


RESOURCE = Resource(
    templates={"notes": "waypost.resources.notes"},
    endpoints=_endpoints,
    exported_rows={"notes.ndjson": account_data.read_notes},
    deleted_rows=[notes],
)
""",
}
TABLE = (
    'op.create_table("notes", sa.Column("id", Id, primary_key=True), sa.Column("account_id", Id, nullable=False),'
    ' sa.Column("text", sa.Text, nullable=False))\n'
    '    op.create_index("ix_notes_account", "notes", ["account_id"])'
)


def test_the_list_is_complete(tmp_path: Path) -> None:
    assert listed_files("Add a resource") == {*EDITS, VERSIONS} - {"pyproject.toml"}
    files = {f"{NOTES}/{name}": text.lstrip() for name, text in FILES.items()}
    edited_copy(tmp_path, EDITS, files | migration("notes", TABLE))
    run_tests(tmp_path, "added_resource.py", "test_schema.py::test_tables_equal_the_migrated_database")
    check_imports(tmp_path)
