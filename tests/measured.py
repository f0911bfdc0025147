"""What this process has counted, as a scrape would show it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from prometheus_client.parser import text_string_to_metric_families

from waypost.metrics import MetricsFile, render


def read(text: str) -> dict[str, float]:
    """Samples by name and label values."""
    families = text_string_to_metric_families(text)
    return {
        " ".join([sample.name, *sample.labels.values()]): sample.value for each in families for sample in each.samples
    }


def counted() -> dict[str, float]:
    with TemporaryDirectory() as directory:
        MetricsFile(Path(directory), "test").close()
        return read(render(Path(directory), []).decode())


@contextmanager
def increases() -> Iterator[dict[str, float]]:
    """Filled, at the end, with the samples that have increased, by how much."""
    increased: dict[str, float] = {}
    before = counted()
    yield increased
    after = counted()
    increased |= {name: value - before[name] for name, value in after.items() if value != before[name]}
