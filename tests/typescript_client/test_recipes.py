"""The recipes of the client's README in Node.js, Deno, Bun and Chromium, and how soon there is a first link."""

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from browser.watching import launched, watched
from caddy import CADDY, needs_caddy
from journeys.service import PATIENCE, Service, Website, eventually, free_port
from typescript_client.recipes import BLOCKS, README, recipes
from typescript_client.tools import Runtime, bundle, run

OPTIONS = ["--offline", "--no-audit", "--no-fund", "--loglevel", "error"]


@pytest.mark.parametrize(
    ("runtime", "program"), [("node", "recipes.js"), ("deno", "recipes.ts"), ("bun", "recipes.ts")]
)
def test_the_recipes_run(runtime: Runtime, program: str, consumer: Path, service: Service, website: Website) -> None:
    """Deno and Bun run TypeScript."""
    text = recipes(service.base_url, website.url).replace("links.example.org", f"{runtime}.example.org")
    (consumer / "recipes.ts").write_text(text)
    (consumer / "recipes.js").write_text(bundle(consumer / "recipes.ts", "--platform=node", "--packages=external"))
    check(run(program, consumer, runtime, WAYPOST_API_KEY=service.new_key()).splitlines())
    assert (consumer / "code.png").read_bytes().startswith(b"\x89PNG")


def check(lines: list[str]) -> None:
    assert lines[0] == lines[1]  # the first link, created and found
    assert re.fullmatch(r"127\.0\.0\.1:\d+/\w+ 0", lines[0])
    assert any(re.match(r"1 (\{|Object)", line) for line in lines), lines  # the row with errors
    assert lines[-2:] == ["AbortError", "receives: 400"]


def test_the_first_link_takes_five_lines(package: Path, tmp_path: Path, service: Service, website: Website) -> None:
    program = BLOCKS[0].replace("https://go.example.com", service.base_url).replace("https://example.com", website.url)
    program = program.replace("API_KEY!", "API_KEY")
    key = service.new_key()
    subprocess.run(["npm", "install", *OPTIONS, package], cwd=tmp_path, check=True, capture_output=True)
    (tmp_path / "first.mjs").write_text(program)
    assert run("first.mjs", tmp_path, WAYPOST_API_KEY=key).startswith(service.base_url.removeprefix("http://"))
    assert len([line for line in program.splitlines() if line]) <= 5


@contextmanager
def site_before(service: Service, root: Path, directory: Path) -> Iterator[str]:
    """The proxy of the README, with files and the API of a service on one origin, which is returned."""
    [text] = re.findall(r"^```caddyfile\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
    origin = f"http://127.0.0.1:{free_port()}"
    for own, other in {
        "tools.example.com": origin,
        "https://go.example.com": service.base_url,
        "/srv/tools": root,
    }.items():
        assert own in text
        text = text.replace(own, str(other))
    (directory / "Caddyfile").write_text(f"{{\n\tadmin off\n}}\n{text}")
    environment = {"HOME": str(directory), "XDG_DATA_HOME": str(directory), "XDG_CONFIG_HOME": str(directory)}
    with (directory / "caddy.log").open("w") as log:
        process = subprocess.Popen([str(CADDY), "run"], cwd=directory, env=environment, stderr=log)
        try:
            eventually(
                lambda: (
                    process.poll() is not None
                    or "serving initial configuration" in (directory / "caddy.log").read_text()
                )
            )
            yield origin
        finally:
            process.terminate()
            process.wait(PATIENCE)


@needs_caddy
async def test_the_recipes_run_in_a_browser(consumer: Path, tmp_path: Path, service: Service, website: Website) -> None:
    (root := tmp_path / "root").mkdir()
    (root / "index.html").write_text(
        "<!doctype html><title>Tools</title><link rel=icon href=data:,><script type=module src=tool.js></script>"
    )
    (consumer / "files.js").write_text(
        "export const writeFile = (name, bytes) => { globalThis.written = [name, ...bytes]; };"
    )
    with site_before(service, root, tmp_path) as origin:
        program = recipes(origin, website.url).replace("links.example.org", "browser.example.org")
        # as the README says of images: they are on the service's own origin
        program = program.replace("code.image_url)", f'code.image_url.replace("{service.base_url}", location.origin))')
        (consumer / "tool.ts").write_text(program + "\nObject.assign(window, { isDone: true });\n")
        key = json.dumps(service.new_key())
        options = [f"--define:process.env.WAYPOST_API_KEY={key}", "--alias:node:fs/promises=./files.js", "--minify"]
        (root / "tool.js").write_text(bundle(consumer / "tool.ts", *options))
        async with launched("--no-sandbox") as chromium:
            reader = await watched(chromium)
            reader.page.on("pageerror", lambda error: reader.trouble.append(str(error)))
            await reader.page.goto(f"{origin}/")
            await reader.page.wait_for_function("window.isDone", timeout=60_000)
            assert await reader.page.evaluate("written.slice(0, 4)") == ["code.png", 0x89, 0x50, 0x4E]
    check([line for line in reader.trouble if "422" not in line])
    assert all(url.startswith((f"{origin}/", "data:")) for url in reader.loaded), reader.loaded
