"""Writes the modules into the package of the client."""

from clients.python.generator.document import Document
from clients.typescript.generator.modules import PACKAGE, modules
from docs_site.api_pages import openapi

for name, text in modules(Document(openapi())).items():
    (PACKAGE / name).write_text(text)
    print(f"written: {name}")
