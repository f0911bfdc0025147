"""The recipes of the client's README, as they are printed there."""

import re

from architecture.code import ROOT

README = (ROOT / "clients" / "typescript" / "README.md").read_text()
BLOCKS = re.findall(r"^```ts\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def recipes(base_url: str, website: str) -> str:
    """All of them as one program, for this service and with links to this website."""
    program = "\n".join(BLOCKS).replace("https://go.example.com", base_url)
    delivery = 'new Request("https://receiver.example.com/", { method: "POST", body: "{}" })'
    program += f'\nconsole.log("receives:", (await receive({delivery}, "whsec_1")).status);\n'
    return program.replace("https://example.com", website)
