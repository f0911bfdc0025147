"""Pages in memory: for one version of a route, bounded, and those that were used last."""

from waypost.redirect.page_cache import PageCache


def test_a_page_is_of_one_version() -> None:
    cache, old, new = PageCache(len), object(), object()
    cache.keep(b"a", old, b"old")
    assert (cache.find(b"a", old), cache.find(b"a", new), cache.find(b"b", old)) == (b"old", None, None)
    cache.keep(b"a", new, b"new")
    assert (cache.find(b"a", old), cache.find(b"a", new)) == (None, b"new")


def test_memory_keeps_the_pages_that_were_used_last() -> None:
    cache, page, version = PageCache(len, 4_000), b"x" * 700, object()
    for number in range(6):
        for _ in range(2):
            cache.keep(b"%d" % number, version, page)
        assert cache.find(b"0", version)
    assert [number for number in range(6) if cache.find(b"%d" % number, version)] == [0, 3, 4, 5]


def test_a_page_larger_than_the_memory_is_not_kept() -> None:
    cache, version = PageCache(len, 1_000), object()
    cache.keep(b"a", version, b"x" * 2_000)
    assert cache.find(b"a", version) is None
