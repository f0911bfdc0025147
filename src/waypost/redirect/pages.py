"""Pages that redirects serve, and their headers: no scripts, no external resources."""

from base64 import b64encode
from hashlib import sha256

STYLE = """
  :root { color-scheme: light dark }
  body { font: 1.05rem/1.6 system-ui, sans-serif; margin: 0; min-height: 100vh; display: grid; place-content: center;
         box-sizing: border-box; text-align: center; padding: 1.5rem; background: Canvas; color: CanvasText }
  h1 { font-size: 1.4rem; line-height: 1.3; margin: 0 }
  p { margin: .4rem 0 0; opacity: .75 }
  h1, p { max-width: 40rem; overflow-wrap: anywhere; white-space: pre-line }
  p:empty { display: none }
  p.open-link { margin-top: 1rem; opacity: 1 }
"""
INFO_STYLE = (
    STYLE
    + """
  dl { max-width: 40rem; margin: 1.5rem 0 0; text-align: start }
  dt { margin-top: .8rem; font-size: .9rem; opacity: .75 }
  dd { margin: 0; overflow-wrap: anywhere }
"""
)


def headers(style: str, form_action: bytes = b"'none'") -> tuple[tuple[bytes, bytes], ...]:
    style_hash = b64encode(sha256(style.encode()).digest())
    return (
        (b"content-type", b"text/html; charset=utf-8"),
        (b"cache-control", b"private, no-store"),
        (b"x-content-type-options", b"nosniff"),
        (
            b"content-security-policy",
            b"default-src 'none'; style-src 'sha256-%s'; base-uri 'none'; form-action %s; frame-ancestors 'none'"
            % (style_hash, form_action),
        ),
    )


HEADERS = headers(STYLE)
PREVIEW_HEADERS = (*HEADERS, (b"referrer-policy", b"no-referrer-when-downgrade"), (b"x-robots-tag", b"noindex"))

NOT_FOUND = f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>Link not found</title>
<style>{STYLE}</style>
<main>
<h1>Link not found</h1>
<p>It may have expired or been deleted, or the URL may be misspelled.</p>
</main>
</html>
""".encode()
