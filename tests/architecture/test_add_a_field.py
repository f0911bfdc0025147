"""A field of a link is added by the list in CONTRIBUTING.md, and by nothing else."""

from pathlib import Path

from architecture.by_list import VERSIONS, Edits, edited_copy, listed_files, migration, run_tests

TEXT = '"Note for the members of the account", "Ask Ada first"'
LINKS = "src/waypost/resources/links"
EDITS: Edits = {
    f"{LINKS}/model.py": [
        ('    Column("expires_at", Instant),\n', '    Column("note", Text),\n'),
        ("    expires_at: datetime | None = None\n", "    note: str | None = None\n"),
    ],
    f"{LINKS}/schemas.py": [
        ("class LinkFields(Body):\n", f"    note: Annotated[ShortText, NullIfBlank] | None = field({TEXT})\n"),
        ("class LinkJson(TypedDict):\n", '    note: Annotated[str | None, doc_as(LinkFields, "note")]\n'),
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


def test_the_list_is_complete(tmp_path: Path) -> None:
    assert listed_files("Add a field to links") == {*EDITS, VERSIONS}
    edited_copy(tmp_path, EDITS, migration("note", 'op.add_column("links", sa.Column("note", sa.Text))'))
    run_tests(tmp_path, "added_field.py")
