"""`waypost qr`: the text that is printed, made pixels again as a terminal would, must be read as the URL."""

import fcntl
import os
import re
import struct
import subprocess
import termios
from collections.abc import Callable
from pathlib import Path

import pytest
import zxingcpp
from cyclopts import CycloptsError
from forked import WAYPOST
from PIL import Image, ImageOps

from waypost.cli import app
from waypost.commands.qr_output import DrawFailed
from waypost.kit.errors import SettingsError

URL = "https://go.example/spring?r=qr"
COLUMNS = 29 + 2 * 4
HALVES = {" ": (0, 0), "▀": (1, 0), "▄": (0, 1), "█": (1, 1)}
COLORED = re.compile(r"\x1b\[38;5;16;48;5;231m([ ▀▄█]*)\x1b\[0m")


Qr = Callable[..., str]


@pytest.fixture
def qr(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Qr:
    """The command in this process, in a directory of its own. Returns what it prints to stdout."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> str:
        assert app(["qr", *arguments], exit_on_error=False, result_action="return_value") == 0
        printed = capfd.readouterr()
        assert printed.err == ""
        return printed.out

    return run


def picture(lines: list[str], *, ink: int, paper: int) -> Image.Image:
    """A character is a pixel wide and two high, enlarged; around the code the terminal is as its theme has it."""
    halves = [[HALVES[each][half] for each in line] for line in lines for half in (0, 1)]
    image = Image.new("L", (len(halves[0]), len(halves)))
    image.putdata([ink if each else paper for row in halves for each in row])
    return image.resize((6 * image.width, 6 * image.height), Image.Resampling.NEAREST)


def read(image: Image.Image, *, theme: int, try_invert: bool = False) -> list[str]:
    return [each.text for each in zxingcpp.read_barcodes(ImageOps.expand(image, 40, theme), try_invert=try_invert)]


def on_a_terminal(*arguments: str, columns: int = 80, code: int = 0, **environment: str) -> str:
    """What a terminal of that width gets to see, with both streams on it."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    unset = {"COLUMNS", "NO_COLOR"}
    own = {name: value for name, value in os.environ.items() if name not in unset} | {"TERM": "xterm-256color"}
    with subprocess.Popen(
        [WAYPOST, "qr", *arguments], stdin=theirs, stdout=theirs, stderr=theirs, env=own | environment
    ) as process:
        os.close(theirs)
        seen = b""
        try:
            while part := os.read(ours, 65_536):
                seen += part
        except OSError:  # the other end is closed
            pass
    os.close(ours)
    assert process.returncode == code
    return seen.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("theme", [0, 255], ids=["dark", "light"])
def test_draws_a_scannable_code_on_a_terminal(theme: int) -> None:
    lines = on_a_terminal(URL).splitlines()
    texts = [found[1] for found in map(COLORED.fullmatch, lines) if found]
    assert (len(texts), {len(text) for text in texts}) == (len(lines), {COLUMNS})
    assert read(picture(texts, ink=0, paper=255), theme=theme) == [URL]


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=["NO_COLOR", "dumb"])
def test_draws_without_colors(qr: Qr, environment: dict[str, str]) -> None:
    seen = on_a_terminal(URL, **environment)
    assert seen == qr(URL), "a pipe gets the same"
    image = picture(seen.splitlines(), ink=255, paper=0)
    assert read(image, theme=0) == [URL]
    assert read(ImageOps.invert(image), theme=255, try_invert=True) == [URL], "on light themes readers have to turn it"


@pytest.mark.parametrize(("margin", "size"), [(0, 29), (1, 31), (10, 49)])
def test_draws_the_margin(qr: Qr, margin: int, size: int) -> None:
    lines = qr(URL, "--margin", str(margin)).splitlines()
    assert ({len(line) for line in lines}, len(lines)) == ({size}, (size + 1) // 2)
    assert read(picture(lines, ink=255, paper=0), theme=255) == [URL]


def test_draws_each_level(qr: Qr) -> None:
    printed = {level: qr(URL, "--level", level) for level in "LMQH"}
    assert len(set(printed.values())) == 4
    for text in printed.values():
        assert read(picture(text.splitlines(), ink=255, paper=0), theme=0) == [URL]


def test_accepts_localhost(qr: Qr) -> None:
    url = "http://localhost:8000/hello?r=qr"
    lines = qr(url, "--margin", "4").splitlines()
    assert read(picture(lines, ink=255, paper=0), theme=0) == [url]


def test_refuses_a_narrow_terminal() -> None:
    assert len(on_a_terminal(URL, columns=COLUMNS).splitlines()) == (COLUMNS + 1) // 2
    message = on_a_terminal(URL, columns=COLUMNS - 1, code=1)
    assert message.startswith(f"The code needs {COLUMNS} columns and the terminal has {COLUMNS - 1}: ")
    assert message.count("\n") == 1


def test_writes_png_svg_and_pdf_files(qr: Qr, tmp_path: Path) -> None:
    png, svg, pdf = (tmp_path / name for name in ("code.PNG", "code.svg", "code.pdf"))
    png.write_text("an older one")
    options = ["--style", "fluid", "--level", "H", "--size", "300", "--margin", "4", "--foreground", "#127"]
    for file in (png, svg, pdf):
        assert qr(URL, "--output", file.name, *options, "--background", "#FFFEDD") == ""
    image = Image.open(png).convert("RGB")
    assert (image.size, image.getpixel((0, 0))) == ((300, 300), (255, 254, 221))
    assert read(image, theme=0) == [URL]
    assert 'width="300"' in svg.read_text()
    assert set(re.findall(r'fill="(.*?)"', svg.read_text())) == {"#112277", "#fffedd"}
    assert {*tmp_path.iterdir()} == {png, svg, pdf}


def test_warns_about_codes_that_are_hard_to_scan(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "code.png"
    options = ["--output", str(file), "--foreground", "#eee", "--size", "64"]
    app(["qr", URL, *options], exit_on_error=False, result_action="return_value")
    message = capfd.readouterr().err.splitlines()
    assert len(message) == 2
    assert message[0].startswith("The colors have a contrast of ")
    assert message[1].startswith("At 64 pixels ")
    assert file.exists()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (["ftp://go.example/"], SettingsError, "The URL must start with http:// or https://."),
        (["go.example"], SettingsError, "The URL must start with http:// or https://."),
        (
            ["https://go.example/" + "x" * 2400],
            SettingsError,
            "The URL is too long: a code of level M holds 2,331 bytes.",
        ),
        ([URL, "--output", "code.gif"], SettingsError, "--output: The name must end with .png, .svg or .pdf."),
        ([URL, "--output", "png"], SettingsError, "--output: The name must end with .png, .svg or .pdf."),
        ([URL, "--output", "no/code.png"], DrawFailed, "no/code.png cannot be written: No such file or directory"),
        ([URL, "--output", "folder.svg"], DrawFailed, "folder.svg cannot be written: Is a directory"),
        (
            [URL, "--style", "dots", "--size", "99"],
            SettingsError,
            "--style, --size: These options need a file: add --output.",
        ),
        ([URL, "--level", "X"], CycloptsError, "--level"),
        ([URL, "--style", "round"], CycloptsError, "--style"),
        ([URL, "--margin", "11"], SettingsError, "--margin: "),
        ([URL, "--size", "63", "--output", "code.png"], SettingsError, "--size: "),
        ([URL, "--width-mm", "301", "--output", "code.pdf"], SettingsError, "--width-mm: "),
        ([URL, "--foreground", "red", "--output", "code.png"], SettingsError, "--foreground: "),
        ([URL, "--background", "#12345678", "--output", "code.png"], SettingsError, "--background: "),
    ],
    ids=range(15),
)
def test_reports_wrong_options(qr: Qr, tmp_path: Path, arguments: list[str], error: type, message: str) -> None:
    (tmp_path / "folder.svg").mkdir()
    with pytest.raises(error) as raised:
        qr(*arguments)
    assert str(raised.value).startswith(message) or (error is CycloptsError and message in str(raised.value))
    assert [path.name for path in tmp_path.iterdir()] == ["folder.svg"]


def test_wrong_usage_exits_with_2() -> None:
    assert on_a_terminal("go.example", code=2) == "The URL must start with http:// or https://.\n"


def test_a_closed_pipe_is_no_error() -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run([WAYPOST, "qr", URL], stdout=write_end, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write_end)
    assert (done.returncode, done.stderr) == (0, "")


def test_reports_a_full_disk() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([WAYPOST, "qr", URL], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "The code cannot be written: No space left on device\n")
