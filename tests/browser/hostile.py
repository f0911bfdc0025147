"""What people write into a link to see what happens. `steps out` tells of itself: it sets `window.harmed`."""

HARM = "window.harmed=1"

TEXTS = {
    "script": f"<script>{HARM}</script>",
    "closes the title": f"</title><script>{HARM}</script>",
    "closes the style": f"</style><script>{HARM}</script>",
    "closes an attribute": f'"><img src=x onerror="{HARM}">',
    "closes it with the other quote": f"'><img src=x onerror='{HARM}'>",
    "adds an attribute": f'" onmouseover="{HARM}" autofocus onfocus="{HARM}" x="',
    "refreshes": '"><meta http-equiv="refresh" content="0;url=https://evil.test/">',
    "rebases": '"><base href="https://evil.test/"><link rel=stylesheet href="https://evil.test/a.css">',
    "frames": f'<iframe srcdoc="<script>parent.harmed=1</script>" src="javascript:{HARM}"></iframe>',
    "draws": f"<svg onload={HARM}><math><mi//xlink:href='data:x,<script>{HARM}</script>'>",
    "ends CDATA": f"]]><script>{HARM}</script><![CDATA[",
    "ends a comment": f"--><script>{HARM}</script><!--",
    "is escaped already": "&lt;script&gt; &quot; &amp;lt; &#60; &copy &notin; &",
    "is of a template": "{title} {style} {0} {{7*7}} ${7*7} %s %(title)s <%= 7*7 %>",
    "separates lines": "one\u2028two\u2029three\x85four",
    "turns the line around": "\u202egnp.exe\u2066\u2067 abc \u200f\u061c",
    "combines": "Z\u0351\u036b\u0343" * 20 + "\u200b\ufeff\U000e0041\U0001f469\u200d\U0001f4bb",
    "is written from the right": "مرحبا بالعالم",
    "is long": "W" * 255,
}
