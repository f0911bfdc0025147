"""A PostgreSQL primary with a synchronous standby, on two machines of a network."""

import signal
import subprocess
from pathlib import Path

import psycopg
from conftest import POSTGRES_BIN
from journeys.service import PATIENCE, eventually
from nodes.network import Network

_USER = ("setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups")
_OPTIONS = {
    "listen_addresses": "*",
    "fsync": "off",  # processes are killed here, not machines
    "full_page_writes": "off",
    "max_connections": "300",
    "wal_retrieve_retry_interval": "200ms",
    "wal_sender_timeout": "5s",
    "wal_keep_size": "256MB",
}


class PostgresMachine:
    def __init__(self, network: Network, name: str, address: str, directory: Path) -> None:
        self.name, self.address = name, address
        self._network = network
        self._directory = directory / name
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"postgresql://postgres@{self.address}/waypost"

    def create(self) -> None:
        self._make_directory()
        self._run("initdb", "-D", str(self._data), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync")
        with (self._data / "pg_hba.conf").open("a") as file:
            file.write("host all,replication all samenet trust\n")
        self.start()
        self.sql("CREATE USER waypost_check", "postgres")
        self.sql("CREATE DATABASE waypost", "postgres")

    def copy(self, primary: "PostgresMachine") -> None:
        """Become the standby of `primary`, with nothing of what was here, and wait until it replicates."""
        self.kill()
        subprocess.run(["rm", "-rf", str(self._directory)], check=True)
        self._make_directory()
        eventually(lambda: self._call("pg_isready", "-h", primary.address).returncode == 0)
        source = ("-h", primary.address, "-U", "postgres", "-R", "-X", "stream", "-c", "fast", "--no-sync")
        self._run("pg_basebackup", "-D", str(self._data), *source)
        (self._data / "postgresql.auto.conf").write_text(
            "".join(
                line
                for line in (self._data / "postgresql.auto.conf").read_text().splitlines(keepends=True)
                if "synchronous_standby_names" not in line
            )
        )
        self.start()
        primary.wait_for_standby()
        primary.set("synchronous_standby_names", "*")

    def wait_for_standby(self) -> None:
        eventually(lambda: bool(self.sql("SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'")))

    def promote(self) -> None:
        self.sql("SELECT pg_promote()")

    def set(self, name: str, value: str) -> None:
        self.sql(f"ALTER SYSTEM SET {name} = '{value}'")
        self.sql("SELECT pg_reload_conf()")

    def start(self) -> None:
        options = [text for name, value in _OPTIONS.items() for text in ("-c", f"{name}={value}")]
        command = [*_USER, str(POSTGRES_BIN / "postgres"), "-D", str(self._data), "-k", str(self._directory), *options]
        with (self._directory / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self._network.on(self.name, *command), stdout=log, stderr=log, cwd=self._directory
            )
        eventually(self._accepts_connections)

    def _accepts_connections(self) -> bool:
        assert self._process
        assert self._process.poll() is None, (self._directory / "log").read_text()[-2000:]
        try:
            self.sql("SELECT 1", "postgres")
        except psycopg.OperationalError:
            return False
        return True

    def kill(self) -> None:
        """As when the machine loses power: no process finishes anything."""
        if self._process:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(PATIENCE)
            self._process = None

    def sql(self, statement: str, database: str = "waypost") -> list[tuple[object, ...]]:
        url = f"postgresql://postgres@/{database}?host={self._directory}"
        with psycopg.connect(url, autocommit=True) as connection:
            result = connection.execute(statement.encode())
            return result.fetchall() if result.description else []

    @property
    def _data(self) -> Path:
        return self._directory / "data"

    def _make_directory(self) -> None:
        self._directory.mkdir(mode=0o777)
        self._directory.chmod(0o777)

    def _run(self, program: str, *arguments: str) -> None:
        done = self._call(program, *arguments)
        assert done.returncode == 0, done.stdout + done.stderr

    def _call(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = self._network.on(self.name, *_USER, str(POSTGRES_BIN / program), *arguments)
        return subprocess.run(command, check=False, capture_output=True, text=True, cwd=self._directory)


class PostgresPair:
    def __init__(self, network: Network, machines: dict[str, str], directory: Path) -> None:
        """`machines`: addresses by name."""
        self.primary, self.standby = (PostgresMachine(network, *machine, directory) for machine in machines.items())

    def start(self) -> None:
        self.primary.create()
        self.standby.copy(self.primary)

    def stop(self) -> None:
        self.standby.kill()
        self.primary.kill()

    def fail_over(self) -> None:
        """Promote the standby. The caller has stopped the primary or cut it off."""
        self.standby.promote()
        self.primary, self.standby = self.standby, self.primary

    def rebuild_standby(self) -> None:
        self.standby.copy(self.primary)
