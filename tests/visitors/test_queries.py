"""The parameters of a query."""

from urllib.parse import quote_from_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.visitors.queries import parse_query


@pytest.mark.parametrize(
    ("query", "values"),
    [
        (b"", None),
        (b"x=1", {b"1"}),
        (b"x=1&x=2&y=3", {b"1", b"2"}),
        (b"x", {b""}),
        (b"x=", {b""}),
        (b"&&x=1&", {b"1"}),
        (b"X=1", None),
        (b"x=a=b", {b"a=b"}),
        (b"%78=1", {b"1"}),
        (b"x=%C3%A9%26%3D", "é&=".encode()),
        (b"x=%zz%", {b"%zz%"}),
        (b"x=a+b", {b"a+b", b"a b"}),
        (b"x=a%2Bb", {b"a+b"}),
        (b"x=a%20b", {b"a b"}),
        (b"x=.*[a]$", {b".*[a]$"}),
    ],
)
def test_values_of_a_parameter(query: bytes, values: set[bytes] | bytes | None) -> None:
    assert parse_query(query).get(b"x") == ({values} if isinstance(values, bytes) else values)


@pytest.mark.parametrize("query", [b"x=1&" + b"y&" * 30_000, b"x=1&y=" + b"%41" * 20_000, b"x=1&" + b"&" * 60_000])
def test_only_the_start_of_a_long_query_is_read(query: bytes) -> None:
    parameters = parse_query(query)
    assert parameters[b"x"] == {b"1"}
    assert sum(len(value) for values in parameters.values() for value in values) < 4_096
    assert len(parameters) <= 100


@given(st.lists(st.tuples(st.binary(max_size=5), st.binary(max_size=5)), max_size=10))
def test_encoded_parameters_are_decoded(pairs: list[tuple[bytes, bytes]]) -> None:
    query = "&".join(f"{quote_from_bytes(name)}={quote_from_bytes(value)}" for name, value in pairs).encode()
    assert parse_query(query) == {name: {value for other, value in pairs if other == name} for name, _ in pairs}
