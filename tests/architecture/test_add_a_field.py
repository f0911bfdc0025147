"""A field of a link is added by the list in CONTRIBUTING.md, and by nothing else."""

from pathlib import Path

from architecture.by_list import VERSIONS, Edits, edited_copy, listed_files, migration, run_tests

TEXT = '"Memo for the members of the account", "Ask Ada first"'
LINKS = "src/waypost/resources/links"
EDITS: Edits = {
    f"{LINKS}/model.py": [
        ('    Column("expires_at", Instant),\n', '    Column("memo", Text),\n'),
        ("    expires_at: datetime | None = None\n", "    memo: str | None = None\n"),
    ],
    f"{LINKS}/schemas.py": [
        ("class LinkFields(Body):\n", f"    memo: Annotated[ShortText, NullIfBlank] | None = field({TEXT})\n"),
        ("class LinkJson(TypedDict):\n", '    memo: Annotated[str | None, doc_as(LinkFields, "memo")]\n'),
    ],
    f"{LINKS}/templates/form.html": [
        (
            '      {{ field(form, "og_title", "Card title", attributes={"maxlength": 255}) }}\n',
            '      {{ field(form, "memo", "Memo") }}\n',
        )
    ],
    f"{LINKS}/templates/settings.html": [
        ('  <dl class="facts">\n', '    <div><dt>Memo</dt><dd>{{ form.text("memo") }}</dd></div>\n')
    ],
}


def test_the_list_is_complete(tmp_path: Path) -> None:
    assert listed_files("Add a field to links") == {*EDITS, VERSIONS}
    edited_copy(tmp_path, EDITS, migration("memo", 'op.add_column("links", sa.Column("memo", sa.Text))'))
    run_tests(tmp_path, "added_field.py")
