"""A page as screen readers read it: Chromium's accessibility tree, in its order."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from playwright.async_api import Page

CONTROLS = {"button", "checkbox", "combobox", "ColorWell", "Date", "DateTime", "DisclosureTriangle", "InputTime"}
CONTROLS |= {"link", "listbox", "menuitem", "radio", "searchbox", "slider", "spinbutton", "switch", "tab", "textbox"}
IN_THE_PAGE = """() => {
  const controls = document.querySelectorAll("main :is(a.button, button, input, select, textarea, summary)");
  const boxes = [...controls].filter((each) => each.checkVisibility() && !each.closest(".drop, dialog"))
    .map((each) => [each, each.getBoundingClientRect()]).filter(([, box]) => box.width > 2 && box.height > 2);
  const name = (each) => each.outerHTML.slice(0, 99);
  const isAbove = (a, b) => a.bottom <= b.top + 1 && a.left < b.right - 1 && a.right > b.left + 1;
  const isLeft = (a, b) => a.right <= b.left + 1 && a.top < b.bottom - 1 && a.bottom > b.top + 1;
  const outOfOrder = boxes.flatMap(([first, a], index) => boxes.slice(index + 1)
    .filter(([, b]) => isAbove(b, a) || isLeft(b, a))
    .map(([second]) => `read before what is seen first: ${name(first)} … ${name(second)}`));
  const alerts = [...document.querySelectorAll("main [role=alert]")].filter((each) => each.textContent.trim());
  const refused = [...document.querySelectorAll("form[method=post] [aria-invalid=true]")].slice(0, 1)
    .filter((each) => !alerts.some((alert) => alert.compareDocumentPosition(each) & Node.DOCUMENT_POSITION_FOLLOWING))
    .map((each) => `no message before the refused field: ${name(each)}`);
  return [...outOfOrder, ...refused];
}"""


@dataclass(frozen=True)
class Part:
    role: str
    name: str
    in_main: bool
    level: int
    """Of a heading."""
    is_invalid: bool
    description: str


async def read(page: Page) -> list[Part]:
    """Return what a screen reader meets, in its order."""
    session = await page.context.new_cdp_session(page)
    answer = await session.send("Accessibility.getFullAXTree")
    await session.detach()
    nodes = {node["nodeId"]: node for node in answer["nodes"]}
    return [*_parts(nodes, answer["nodes"][0])]


def _parts(nodes: dict[str, Any], node: dict[str, Any], *, in_main: bool = False) -> Iterator[Part]:
    role = _value(node.get("role"))
    if not node["ignored"] and role not in {"StaticText", "InlineTextBox"}:
        properties = {each["name"]: each["value"].get("value") for each in node.get("properties", ())}
        yield Part(
            role,
            _value(node.get("name")),
            in_main,
            properties.get("level", 0),
            properties.get("invalid", "false") == "true",
            _value(node.get("description")),
        )
    for id_ in node.get("childIds", ()):
        if id_ in nodes:
            yield from _parts(nodes, nodes[id_], in_main=in_main or role == "main")


def _value(of: Any) -> str:
    return str(of.get("value", "")).strip() if of else ""


async def misread(page: Page) -> list[str]:
    """Return what a screen reader would read in a wrong order, or could not name."""
    parts = await read(page)
    return [*_problems(parts), *await page.evaluate(IN_THE_PAGE)]


def _problems(parts: list[Part]) -> Iterator[str]:
    roles = [part.role for part in parts]
    controls = [part for part in parts if part.role in CONTROLS]
    yield from (f"no name: {part}" for part in controls if not part.name)
    if "dialog" in roles:
        return  # nothing else is read
    if roles.count("main") != 1:
        yield f"{roles.count('main')} main landmarks"
        return
    if controls and not controls[0].in_main and controls[0].name != "Skip to content":
        yield f"the first control is no skip link: {controls[0].name}"
    if any(part.name == "Main" for part in parts[roles.index("main") :] if part.role == "navigation"):
        yield "the content is read before the navigation"
    levels = [part.level for part in parts if part.role == "heading" and part.in_main]
    if levels[:1] != [1] or levels.count(1) != 1:
        yield f"the content does not begin with its one heading of level 1: {levels}"
    if any(after > before + 1 for before, after in pairwise(levels)):
        yield f"a level of headings is skipped: {levels}"
    refused = (part for part in parts if part.is_invalid and not part.description)
    yield from (f"no reason beside the refused field: {part}" for part in refused)
