"""Names of files in an archive, made of links. Every system accepts them, also Windows. No I/O."""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping

FIELDS = ("slug", "title", "hostname", "id")
CSV = "codes.csv"

_FIELD = re.compile(rf"{{({'|'.join(FIELDS)})}}")
_FORBIDDEN = re.compile(r'[<>:"/\\|?*]')
_LEFT_OUT = frozenset({"Cc", "Cf", "Cn", "Co", "Cs"})
"""Categories of characters without a shape, such as those that change the direction of what follows."""
_DEVICES = {"con", "prn", "aux", "nul", "conin$", "conout$"}
_DEVICES |= {f"{port}{number}" for port in ("com", "lpt") for number in "0123456789¹²³"}
"""What Windows takes for a device, also with something behind a dot."""
_MAX_BYTES = 120
"""Of a name without its number and ending. Directories that people unpack into have names, too."""


def check_pattern(text: str) -> str:
    """Return the pattern. Raises ValueError with a message for the user."""
    if re.search(r"[{}]", _FIELD.sub("", text)):
        raise ValueError("Braces contain one of: {slug}, {title}, {hostname}, {id}. Other text is used as it is.")
    return text


class FileNames:
    """Gives each link a name that no other one has, in upper or lower case."""

    def __init__(self, pattern: str, ending: str) -> None:
        self._pattern = pattern
        self._ending = ending
        self._used = {CSV}
        self._counts = Counter[str]()

    def add(self, fields: Mapping[str, str]) -> str:
        """Return the name for a link with these FIELDS. It is that of the slug where nothing is left of another one."""
        name = safe_name(_FIELD.sub(lambda field: fields[field[1]], self._pattern)) or safe_name(fields["slug"])
        while True:
            self._counts[name] += 1
            number = f" ({self._counts[name]})" if self._counts[name] > 1 else ""
            file = f"{name}{number}.{self._ending}"
            if (key := unicodedata.normalize("NFKD", file.casefold())) not in self._used:
                self._used.add(key)
                return file


def safe_name(text: str) -> str:
    """Return what can be a name: "" if nothing is left of the text. It begins with no sign that runs as a formula."""
    shown = (char for char in unicodedata.normalize("NFC", text) if unicodedata.category(char) not in _LEFT_OUT)
    name = " ".join(_FORBIDDEN.sub("_", "".join(shown)).split())
    name = name.encode()[:_MAX_BYTES].decode(errors="ignore").strip(" .")
    is_device = name.partition(".")[0].rstrip().casefold() in _DEVICES
    return f"_{name}" if is_device or name.startswith(("=", "+", "-", "@")) else name
