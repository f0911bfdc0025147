"""The package as its users have it: files, types, size."""

import gzip
import json
import re
import tarfile
from pathlib import Path

import pytest
from architecture.code import ROOT
from typescript_client.recipes import BLOCKS, README
from typescript_client.tools import bundle, compile_types

PROGRAM = """
import { type Click, type Link, type LinkClickedEvent, RateLimited, verifyWebhook, Waypost } from "@waypost/client";

const waypost = new Waypost({ baseUrl: new URL("https://go.example.com"), apiKey: "key", timeout: 1000, fetch });
const fields = { destination_url: "https://example.com", tags: ["a"], expires_at: null };
const link: Link = await waypost.links.create(fields);
await waypost.links.update(link.id, { title: null, pixel_ids: link.pixel_ids, utm_params: link.utm_params });
await waypost.links.update(link.id, { og_image_file: new Uint8Array(1), expires_at: new Date() });
await waypost.links.bulkCreate([{ destination_url: "a", slug: "a" }] as const, { idempotencyKey: "1" });
await waypost.links.setRouting(link.id, { rules: (await waypost.links.getRouting(link.id)).rules });
for await (const each of waypost.links.list({ status: "active" }, { signal: AbortSignal.timeout(1000) })) {
  const clicks: number = each.clicks;
}
for await (const page of waypost.links.clicks(link.id, { from: new Date() }).pages()) {
  const clicks: Click[] = page.data;
  const total: number = page.meta.total;
}
const event = await verifyWebhook(new Uint8Array(1), { "x-signature": ["a"], host: undefined }, "secret");
if (event.event === "link.clicked") {
  const clicked: LinkClickedEvent = event;
  const country: string = event.data.country;
}
try {
  const image: Blob = new Blob([await waypost.qrcodes.image("https://example.com")]);
} catch (error) {
  const seconds: number | undefined = error instanceof RateLimited ? error.retryAfter : undefined;
}
const found = await waypost.request<{ data: Link[] }>("GET", "/links");
const first: Link | undefined = found.data[0];
"""
WRONG = """
import { Waypost } from "@waypost/client";

const waypost = new Waypost({ baseUrl: "https://go.example.com", apiKey: "key" });
await waypost.links.create({ destination: "https://example.com" });
waypost.links.list({ status: "broken" });
(await waypost.links.get("id")).nothing;
await waypost.links.bulkCreate([{ slug: "a" }]);
await waypost.links.update("id", { title: 1 });
new Waypost({ baseUrl: "https://go.example.com" });
"""


def test_contains_the_compiled_client_and_nothing_else(package: Path) -> None:
    with tarfile.open(package) as tar:
        names = {name.removeprefix("package/") for name in tar.getnames()}
    modules = {path.stem for path in (ROOT / "clients" / "typescript" / "src").iterdir()}
    compiled = {f"dist/{name}{suffix}" for name in modules for suffix in (".js", ".d.ts")}
    assert names == {"package.json", "README.md", "LICENSE"} | compiled
    assert (ROOT / "clients/typescript/LICENSE").read_text() == (ROOT / "LICENSE").read_text()
    about = json.loads((ROOT / "clients" / "typescript" / "package.json").read_text())
    assert (about["type"], about["sideEffects"], about["engines"]) == ("module", False, {"node": ">=20"})
    assert not {"dependencies", "peerDependencies", "optionalDependencies", "scripts"} & set(about)


@pytest.mark.parametrize("compiler", ["typescript-7", "typescript"])
def test_programs_and_recipes_are_checked_strictly(compiler: str, consumer: Path) -> None:
    assert re.findall(r"^### (\d+)\. ", README, re.MULTILINE) == [str(number) for number in range(1, 11)]
    programs = {"right.ts": PROGRAM, "wrong.ts": WRONG, "readme.ts": "\n".join(BLOCKS)}
    for name, text in programs.items():
        (consumer / name).write_text(text)
    errors = [line for line in compile_types(*programs, cwd=consumer, compiler=compiler) if ": error TS" in line]
    assert {line.partition("(")[0] for line in errors} == {"wrong.ts"}, errors
    assert [line.partition("(")[2].partition(",")[0] for line in errors] == ["5", "6", "7", "8", "9", "10"], errors


@pytest.mark.parametrize(
    ("exports", "limit"), [("*", 8 * 1024), ("{ Waypost }", 8 * 1024), ("{ verifyWebhook }", 1408)]
)
def test_a_bundle_is_small(exports: str, limit: int, consumer: Path) -> None:
    (consumer / "bundled.js").write_text(f'export {exports} from "@waypost/client";')
    text = bundle(consumer / "bundled.js", "--minify")
    assert len(gzip.compress(text.encode(), 9)) <= limit
    assert ("Idempotency-Key" in text) == (exports != "{ verifyWebhook }")


def test_a_bundle_has_nothing_of_what_is_not_used(consumer: Path) -> None:
    (consumer / "unused.js").write_text('import "@waypost/client";')
    assert bundle(consumer / "unused.js", "--minify").strip() == ""


def test_the_types_need_no_settings_of_the_compiler(consumer: Path) -> None:
    """Neither `skipLibCheck` nor the types of a browser: those of Node.js are enough, or those of a browser."""
    (consumer / "plain.ts").write_text('import { Waypost } from "@waypost/client";\nexport default Waypost;\n')
    assert compile_types("plain.ts", "--lib", "ES2022", cwd=consumer) == []
    assert compile_types("plain.ts", "--types", "", "--lib", "ES2022,DOM", cwd=consumer) == []
