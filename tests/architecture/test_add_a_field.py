"""A field of a link is added by the list in CONTRIBUTING.md, and by nothing else."""

import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

from architecture.code import MIGRATIONS, PACKAGE, ROOT

MIGRATION = '''"""Give links a note."""

from alembic import op
from sqlalchemy import Column, Text

revision = "{:04}"
down_revision = "{:04}"


def upgrade() -> None:
    op.add_column("links", Column("note", Text))
'''
TEXT = '"Note for the members of the account", "Ask Ada first"'
LINKS = "src/waypost/resources/links"
EDITS: dict[str, list[tuple[str, str]]] = {
    f"{LINKS}/model.py": [
        ('    Column("expires_at", Instant),\n', '    Column("note", Text),\n'),
        ("    expires_at: datetime | None = None\n", "    note: str | None = None\n"),
    ],
    f"{LINKS}/schemas.py": [
        ("class LinkFields(Body):\n", f"    note: Annotated[ShortText, NullIfBlank] | None = field({TEXT})\n"),
        ("class LinkJson(TypedDict):\n", f"    note: Annotated[str | None, doc({TEXT})]\n"),
    ],
    f"{LINKS}/templates/form.html": [
        (
            '      {{ field(form, "og_title", "Card title", attributes={"maxlength": 255}) }}\n',
            '      {{ field(form, "note", "Note") }}\n',
        )
    ],
    f"{LINKS}/templates/settings.html": [
        ('  <dl class="facts">\n', '    <div><dt>Note</dt><dd>{{ form.text("note") }}</dd></div>\n')
    ],
}
"""By file: a line of it, and what follows it then."""


def test_the_list_is_complete(tmp_path: Path) -> None:
    listed = runpy.run_path(str(ROOT / "scripts" / "measure-code"))["listed_files"]("Add a field to links")
    versions = MIGRATIONS.relative_to(ROOT).as_posix() + "/"
    assert {*listed} == {*EDITS, versions}
    shutil.copytree(PACKAGE, tmp_path / "src" / "waypost", ignore=shutil.ignore_patterns("__pycache__"))
    for path, edits in EDITS.items():
        text = (tmp_path / path).read_text()
        for line, added in edits:
            assert text.count(line) == 1, line
            text = text.replace(line, line + added)
        (tmp_path / path).write_text(text)
    newest = max(int(path.name[:4]) for path in MIGRATIONS.glob("[0-9]*.py"))
    (tmp_path / versions / f"{newest + 1:04}_note.py").write_text(MIGRATION.format(newest + 1, newest))
    pytest = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider"]
    ran = subprocess.run(
        [*pytest, "tests/architecture/added_field.py"],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(tmp_path / "src")},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout
