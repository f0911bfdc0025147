"""A stand-in for Docker and Docker Compose: checks arguments, and runs Waypost on this machine.

It knows the options, images, paths and services of the documentation, and refuses all others. While something answers
at port 8000, `docker run` is another way to start it: its arguments are checked, and nothing is started.
"""

import argparse
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

IMAGE = "ghcr.io/waypost/waypost"
WAYPOST = Path(sys.executable).parent / "waypost"
VOLUMES = Path.home() / ".volumes"
LOG = Path.home() / "service.log"
PID = Path.home() / "service.pid"
SERVE = ["serve", "--host", "0.0.0.0", "--port", "8000"]


def main(name: str, *arguments: str) -> None:
    commands = {"run": run, "exec": execute, "cp": copy, "pull": pull, "stop": stop, "rm": check_name, "logs": show_log}
    {**commands, "volume": remove_volume, "compose": compose}[name](*arguments)


def compose(name: str, *arguments: str) -> None:
    assert Path("compose.yaml").exists(), "no compose.yaml here"
    match name, arguments:
        case "up", ("--detach",):
            start("waypost_data", SERVE, {})
        case "down" | "pull", ():
            _ = stop("waypost") if name == "down" else None
        case "run", ("--rm", "--no-deps", "-T", "--entrypoint", "tar", "waypost", *rest):
            inside("waypost_data", ["tar", *rest])
        case "logs", ("waypost",):
            show_log("waypost")
        case "exec", ("waypost", *rest):
            inside("waypost_data", list(rest))
        case "cp", (source, target):
            copy(source, target, volume="waypost_data")
        case _:
            raise SystemExit(f"docker compose {name} {' '.join(arguments)}: not known")


def run(*arguments: str) -> None:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for option in ("-d", "-i", "-it", "--rm", "--read-only"):
        parser.add_argument(option, action="store_true")
    for option in (
        "--name",
        "--stop-timeout",
        "--restart",
        "--tmpfs",
        "--cap-drop",
        "--security-opt",
        "--user",
        "--entrypoint",
    ):
        parser.add_argument(option)
    for option in ("-p", "-v", "-e"):
        parser.add_argument(option, action="append", default=[])
    parser.add_argument("image")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    given = parser.parse_args(arguments)
    assert given.image.partition(":")[0] == IMAGE, given.image
    assert {each.rpartition(":")[2] for each in given.p} <= {"8000", "8443"}, given.p
    [(volume, path)] = [each.split(":") for each in given.v]
    assert path == "/data"
    from waypost.settings import PREFIX, Settings

    settings = dict(each.split("=", 1) for each in given.e)
    Settings(**{name.removeprefix(PREFIX).lower(): value for name, value in settings.items()})
    if given.entrypoint == "tar":
        inside(volume, ["tar", *given.command])
    elif given.entrypoint:
        assert (given.entrypoint, given.command) == ("chown", ["-R", "10001:10001", "/data"])
    else:
        start(volume, given.command or SERVE, settings)


def start(volume: str, command: list[str], settings: dict[str, str]) -> None:
    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", 8000)) == 0:
            return
    data = VOLUMES / volume
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    environment = os.environ | settings | {"WAYPOST_DATA_DIR": str(data)}
    with LOG.open("w") as log:
        process = subprocess.Popen([WAYPOST, *command], env=environment, stdout=log, stderr=log, start_new_session=True)
    PID.write_text(str(process.pid))


def execute(name: str, *command: str) -> None:
    check_name(name)
    inside("waypost", list(command))


def inside(volume: str, command: list[str]) -> None:
    data = VOLUMES / volume
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    here = [str(data) + each.removeprefix("/data") if each.startswith("/data") else each for each in command]
    program = str(WAYPOST) if here[0] == "waypost" else here[0]
    done = subprocess.run([program, *here[1:]], env=os.environ | {"WAYPOST_DATA_DIR": str(data)}, check=False)
    sys.exit(done.returncode)


def copy(source: str, target: str, volume: str = "waypost") -> None:
    name, _, path = source.partition(":")
    check_name(name)
    shutil.copy(VOLUMES / volume / path.removeprefix("/data/"), target)


def pull(image: str) -> None:
    assert image == IMAGE, image


def show_log(name: str) -> None:
    check_name(name)
    print(LOG.read_text() if LOG.exists() else "")  # not while something else answers at port 8000


def stop(name: str) -> None:
    check_name(name)
    process = os.pidfd_open(int(PID.read_text()))
    signal.pidfd_send_signal(process, signal.SIGTERM)
    select.select([process], [], [])
    PID.unlink()


def remove_volume(command: str, name: str) -> None:
    assert command == "rm", command
    shutil.rmtree(VOLUMES / name)


def check_name(name: str) -> None:
    assert name == "waypost", name


if __name__ == "__main__":
    main(*sys.argv[1:])
