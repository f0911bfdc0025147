"""The secret key: made once, kept, and the same for everybody."""

import threading
from pathlib import Path

import pytest
from pydantic import SecretStr

from waypost.secret_key import FILE, derived_key, derived_keys, with_secret_key
from waypost.settings import Settings, SettingsError


def key_of(directory: Path) -> str:
    key = with_secret_key(Settings(data_dir=directory)).secret_key
    assert key
    return key.get_secret_value()


def test_creates_a_key_once(tmp_path: Path) -> None:
    directory = tmp_path / "new" / "data"
    key = key_of(directory)
    assert len(key) >= 64
    assert key_of(directory) == key
    assert directory.stat().st_mode & 0o777 == 0o700
    assert (directory / FILE).stat().st_mode & 0o777 == 0o600
    assert [path.name for path in directory.iterdir()] == [FILE]


def test_restricts_an_existing_directory(tmp_path: Path) -> None:
    tmp_path.chmod(0o2755)
    key_of(tmp_path)
    assert tmp_path.stat().st_mode & 0o7777 == 0o2700


def test_the_setting_replaces_the_file(tmp_path: Path) -> None:
    settings = with_secret_key(Settings(data_dir=tmp_path, secret_key=SecretStr("theirs")))
    assert settings.secret_key == SecretStr("theirs")
    assert list(tmp_path.iterdir()) == []


def test_concurrent_starts_use_one_key(tmp_path: Path) -> None:
    keys: list[str] = []
    barrier = threading.Barrier(8)

    def begin() -> None:
        barrier.wait()
        keys.append(key_of(tmp_path))

    threads = [threading.Thread(target=begin) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(keys) == 8
    assert len(set(keys)) == 1


def test_refuses_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / FILE).touch()
    with pytest.raises(SettingsError, match="is empty"):
        key_of(tmp_path)


def test_names_a_directory_that_cannot_be_created(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SettingsError, match="WAYPOST_DATA_DIR"):
        key_of(tmp_path / "file" / "data")


def test_derives_one_key_from_each_secret() -> None:
    def derived(keys: str, purpose: str = "one") -> list[bytes]:
        return derived_keys(Settings(secret_key=SecretStr(keys)), purpose)

    first, second = derived("new, old")
    assert [first, second] == derived("new") + derived("old")
    assert derived_key(Settings(secret_key=SecretStr("new,old")), "one") == first
    assert len({first, second, *derived("new", "other"), b"new", b"old"}) == 5
