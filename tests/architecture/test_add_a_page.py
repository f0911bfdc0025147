"""A page is added by the list in CONTRIBUTING.md, and by nothing else."""

from pathlib import Path

from architecture.by_list import Edits, edited_copy, listed_files, run_tests

PIXELS = "src/waypost/resources/pixels"
ROUTES = """
            self.get(f"{_PATH}/name", shows("pixels/name.html", self._find), "pixels.write"),
            self.form(f"{_PATH}/name", self.rename, "pixels.write", shows("pixels/name.html", self._find)),
"""
METHOD = """
    async def rename(self, call: PageCall) -> Response:
        change, problems = parse(PixelChange, call.form.fields)
        await service.change(self._deps, call.session, call.id, change, problems)
        return redirect(f"/pixels/{call.id}", "pixel-renamed")
"""
EDITS: Edits = {
    f"{PIXELS}/pages.py": [
        (
            '            self.form(_PATH, self.change, "pixels.write", self.show, edit=_EDIT),\n',
            ROUTES,
        ),
        (
            '        return redirect(f"/pixels/{pixel.id}", "saved")\n',
            METHOD,
        ),
    ],
    f"{PIXELS}/templates/one.html": [
        (
            '  {% if may("pixels.write") %}\n  <section class="card">\n',
            '    <a class="button" href="/pixels/{{ pixel.id }}/name">Rename pixel</a>\n',
        )
    ],
    "src/waypost/web/dashboard/notices.py": [
        ('    "saved": "Changes saved.",\n', '    "pixel-renamed": "Pixel renamed.",\n')
    ],
}
TEMPLATE = """
{% extends "frame/layout.html" %}
{% from "frame/macros.html" import field, form_errors %}
{% block title %}Rename pixel{% endblock %}
{% block content %}
<form class="form" method="post" action="/pixels/{{ pixel.id }}/name" novalidate>
  {{ form_errors(form) }}
  {{ field(form, "name", "Name") }}
  <button class="primary">Rename pixel</button>
</form>
{% endblock %}
"""
CHECKS = (
    "added_page.py",
    "test_page_access.py::test_refuses_what_the_role_does_not_allow[viewer]",
    "test_page_offers.py::test_offers_only_what_the_role_allows[admin]",
)


def test_the_list_is_complete(tmp_path: Path) -> None:
    assert listed_files("Add a page") == {path for path in EDITS if not path.startswith(PIXELS)}
    edited_copy(tmp_path, EDITS, {f"{PIXELS}/templates/name.html": TEMPLATE.lstrip()})
    run_tests(tmp_path, *CHECKS)
