"""What can happen to a cluster. Each fault lasts until its context ends; its effects may last longer."""

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from random import Random

from nodes.cluster import CLICKHOUSE, DATABASE, Cluster

Fault = Callable[[Cluster, Random], AbstractContextManager[None]]


@contextlib.contextmanager
def web_process_killed(cluster: Cluster, random: Random) -> Iterator[None]:
    random.choice(cluster.nodes).kill_child("web")
    yield


@contextlib.contextmanager
def worker_killed(cluster: Cluster, random: Random) -> Iterator[None]:
    random.choice(cluster.nodes).kill_child("worker")
    yield


@contextlib.contextmanager
def node_killed(cluster: Cluster, random: Random) -> Iterator[None]:
    node = random.choice(cluster.nodes)
    node.kill_all()
    yield
    node.spawn()


@contextlib.contextmanager
def node_restarted_without_clickhouse(cluster: Cluster, random: Random) -> Iterator[None]:
    node = random.choice(cluster.nodes)
    cluster.clickhouse.faults.refuse()
    node.kill_all()
    node.spawn()
    yield
    cluster.clickhouse.faults.accept()


@contextlib.contextmanager
def node_cut_off(cluster: Cluster, random: Random) -> Iterator[None]:
    node = random.choice(cluster.nodes)
    cluster.network.disconnect(node.name)
    yield
    cluster.network.reconnect(node.name)


@contextlib.contextmanager
def node_cut_off_from_postgresql(cluster: Cluster, random: Random) -> Iterator[None]:
    node = random.choice(cluster.nodes)
    cluster.network.block(node.name, DATABASE)
    yield
    cluster.network.unblock(node.name, DATABASE)


@contextlib.contextmanager
def node_cut_off_from_clickhouse(cluster: Cluster, random: Random) -> Iterator[None]:
    node = random.choice(cluster.nodes)
    cluster.network.block(node.name, CLICKHOUSE)
    yield
    cluster.network.unblock(node.name, CLICKHOUSE)


@contextlib.contextmanager
def postgresql_restarted(cluster: Cluster, _random: Random) -> Iterator[None]:
    cluster.postgres.primary.kill()
    cluster.postgres.primary.start()
    yield


@contextlib.contextmanager
def postgresql_stopped(cluster: Cluster, _random: Random) -> Iterator[None]:
    cluster.postgres.primary.kill()
    yield
    cluster.postgres.primary.start()


@contextlib.contextmanager
def postgresql_failed_over(cluster: Cluster, _random: Random) -> Iterator[None]:
    """The primary crashes."""
    cluster.postgres.primary.kill()
    cluster.postgres.fail_over()
    yield
    cluster.postgres.rebuild_standby()


@contextlib.contextmanager
def postgresql_cut_off_and_failed_over(cluster: Cluster, _random: Random) -> Iterator[None]:
    """The primary's machine disappears: connections to it get no answer, not even an error."""
    lost = cluster.postgres.primary
    cluster.network.disconnect(lost.name)
    cluster.postgres.fail_over()
    lost.kill()
    yield
    cluster.network.reconnect(lost.name)
    cluster.postgres.rebuild_standby()


@contextlib.contextmanager
def change_feed_ended(cluster: Cluster, _random: Random) -> Iterator[None]:
    cluster.postgres.primary.sql(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE (query LIKE 'LISTEN%' OR query = 'SELECT 1') AND pid <> pg_backend_pid()"  # the second: its heartbeat
    )
    yield


@contextlib.contextmanager
def connections_to_postgresql_ended(cluster: Cluster, _random: Random) -> Iterator[None]:
    cluster.postgres.primary.sql(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend'"
        " AND pid <> pg_backend_pid()"
    )
    yield


@contextlib.contextmanager
def clickhouse_refuses(cluster: Cluster, _random: Random) -> Iterator[None]:
    cluster.clickhouse.faults.refuse()
    yield
    cluster.clickhouse.faults.accept()


@contextlib.contextmanager
def clickhouse_hangs(cluster: Cluster, _random: Random) -> Iterator[None]:
    cluster.clickhouse.faults.hang(times=None, executed=True)
    yield
    cluster.clickhouse.faults.clear()


@contextlib.contextmanager
def clickhouse_answers_500(cluster: Cluster, _random: Random) -> Iterator[None]:
    cluster.clickhouse.faults.error(times=None)
    yield
    cluster.clickhouse.faults.clear()


@contextlib.contextmanager
def clickhouse_closes_after_inserts(cluster: Cluster, _random: Random) -> Iterator[None]:
    cluster.clickhouse.faults.close("INSERT", times=6)
    yield
    cluster.clickhouse.faults.clear()


@contextlib.contextmanager
def clickhouse_killed(cluster: Cluster, _random: Random) -> Iterator[None]:
    cluster.clickhouse.kill()
    yield
    cluster.clickhouse.start()


FAULTS: tuple[Fault, ...] = (
    web_process_killed,
    worker_killed,
    node_killed,
    node_restarted_without_clickhouse,
    node_cut_off,
    node_cut_off_from_postgresql,
    node_cut_off_from_clickhouse,
    postgresql_restarted,
    postgresql_stopped,
    postgresql_failed_over,
    postgresql_cut_off_and_failed_over,
    change_feed_ended,
    connections_to_postgresql_ended,
    clickhouse_refuses,
    clickhouse_hangs,
    clickhouse_answers_500,
    clickhouse_closes_after_inserts,
    clickhouse_killed,
)


def name_of(fault: Fault) -> str:
    text = fault.__name__.replace("_", " ")
    return text.replace("postgresql", "PostgreSQL").replace("clickhouse", "ClickHouse")
