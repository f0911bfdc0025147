"""What is refused before it is parsed: too many values, and too many levels."""

import json
import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from waypost.kit.bounded_json import MAX_DEPTH, count_values, loads

TRICKY = ['"', "\\", '\\"', "[", "]", "{", "}", "\n", "ü", ""]
TEXTS = st.lists(st.sampled_from(TRICKY), max_size=6).map("".join)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=30,
)


def depth_of(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(depth_of, inner), default=0)


def values_of(value: Any) -> int:
    """Count the keys, too."""
    if isinstance(value, dict):
        return 1 + sum(1 + values_of(each) for each in value.values())
    return 1 + sum(map(values_of, value)) if isinstance(value, list) else 1


@given(VALUES, st.booleans())
@example({'\\"]': [{'"': ["\\"]}], "a": "]"}, False)
def test_an_outer_list_is_all_that_may_be_added(value: Any, is_ascii: bool) -> None:
    """`MAX_DEPTH` levels are accepted and one more is not, whatever the texts; the count is never too low."""
    levels = MAX_DEPTH - depth_of(value)
    text = json.dumps(value, ensure_ascii=is_ascii)
    for more in (0, 1):
        content = ("[" * (levels + more) + text + "]" * (levels + more)).encode()
        assert count_values(content) >= values_of(json.loads(content))
        if more:
            with pytest.raises(ValueError, match="levels"):
                loads(content, max_values=10_000)
        else:
            assert loads(content, max_values=10_000) == json.loads(content)


@pytest.mark.parametrize("levels", [MAX_DEPTH + 1, 900, 5_000])
@pytest.mark.parametrize("opening", ['{"a":', '["a",', '{"\\\\":', '{"\\"":', '{"a" : [', "["])
@pytest.mark.parametrize("end", ["1", '"', '"\\', '"\\"', ""])
def test_levels_with_keys_are_counted(levels: int, opening: str, end: str) -> None:
    closing = re.sub(r"[^\[{]", "", opening)[::-1].translate({ord("["): "]", ord("{"): "}"})
    for content in (opening * levels + end, opening * levels + end + closing * levels):
        with pytest.raises(ValueError, match="levels"):
            loads(content.encode(), max_values=10_000_000)


@pytest.mark.parametrize("content", [b'"', b'"\\', b'{"a":"', b'["\\"]' * 70, b'\\"[' * 70, b"]" * 70 + b"[" * 65])
def test_what_is_cut_off_is_no_json(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"not JSON|levels"):
        loads(content, max_values=1_000)


def test_brackets_in_texts_are_no_levels() -> None:
    content = json.dumps(["[" * 100, {'\\"' + "{" * 100: '"[' * 100}]).encode()
    assert loads(content, max_values=1_000) == json.loads(content)
