"""Least recently used entries are dropped, of those who have most."""

from waypost.kit.shared_cache import SharedCache


def keys_in(cache: SharedCache[str, str], keys: str) -> str:
    return "".join(key for key in keys if cache.get(key) is not None)


def test_drops_the_least_recently_used() -> None:
    cache: SharedCache[str, str] = SharedCache(3, 3)
    for key in "abc":
        cache.put(key, key, size=1, owner="x")
    assert cache.get("a") == "a"
    cache.put("d", "d", size=1, owner="y")
    assert keys_in(cache, "abcd") == "acd"


def test_one_owner_may_fill_it_alone() -> None:
    cache: SharedCache[str, str] = SharedCache(4, 1)
    for key in "abcd":
        cache.put(key, key, size=1, owner="x")
    assert keys_in(cache, "abcd") == "abcd"


def test_who_has_more_than_a_share_evicts_only_own_entries() -> None:
    cache: SharedCache[str, str] = SharedCache(4, 2)
    cache.put("a", "a", size=1, owner="modest")
    for key in "bcdefgh":
        cache.put(key, key, size=1, owner="greedy")
    assert keys_in(cache, "abcdefgh") == "afgh"
    cache.put("i", "i", size=1, owner="third")  # now "a" is the oldest that was used
    assert keys_in(cache, "afghi") == "fghi"


def test_a_replaced_entry_counts_once() -> None:
    cache: SharedCache[str, str] = SharedCache(3, 3)
    for size in (1, 3, 2):
        cache.put("a", str(size), size=size, owner=size)
    cache.put("b", "b", size=1, owner=1)
    assert (cache.get("a"), cache.get("b")) == ("2", "b")


def test_an_entry_larger_than_all_is_not_kept() -> None:
    cache: SharedCache[str, str] = SharedCache(3, 1)
    cache.put("a", "a", size=1, owner="x")
    cache.put("b", "b", size=4, owner="y")
    assert keys_in(cache, "ab") == "a"
    assert (cache._size, set(cache._owned), set(cache._sizes)) == (1, {"x"}, {"x"})
