"""The modules of the client that are made from the document, formatted and without imports that nothing uses."""

import subprocess
import sys
from pathlib import Path

from clients.python.generator.document import Document
from clients.python.generator.methods import resources
from clients.python.generator.types import HEADER, inputs, models

PACKAGE = Path(__file__).parents[1] / "src" / "waypost_client"
_RUFF = Path(sys.executable).parent / "ruff"


def modules(document: Document) -> dict[str, str]:
    """Return the text of each module by its file name."""
    texts = {
        "async_resources.py": resources(document, is_async=True),
        "inputs.py": inputs(document),
        "models.py": models(document),
        "resources.py": resources(document, is_async=False),
        "version.py": f'{HEADER}"""The version, which is that of Waypost."""\n\nVERSION = "{document.version}"\n',
    }
    return {name: _formatted(PACKAGE / name, text) for name, text in texts.items()}


def _formatted(path: Path, text: str) -> str:
    for command in (["check", "--select", "F401,I", "--fix", "--quiet"], ["format", "--quiet"]):
        text = subprocess.run(
            [_RUFF, *command, "--stdin-filename", path, "-"], input=text, capture_output=True, text=True, check=True
        ).stdout
    return text
