"""Lines of the spool that are drained together, and what they become."""

from dataclasses import dataclass, field, replace

from waypost.resources.clicks.backends.sql import sums, write
from waypost.resources.clicks.model import Click

Positions = dict[str, int]
"""The position in each segment up to which it is drained, or will be."""


@dataclass(slots=True)
class Batch:
    ranges: list[write.SegmentRange] = field(default_factory=list)
    lines: list[list[bytes]] = field(default_factory=list)
    """Lines per range."""
    clicks: list[Click] = field(default_factory=list)
    encoded: write.Encoded = b""
    statistics: sums.Prepared | None = None
    """Both of the clicks, except with ClickHouse."""
    token: str = ""
    """Of its insertion into ClickHouse, once the ranges are committed."""
    is_repeated: bool = False
    """Whether it may have been sent before."""

    @property
    def ends(self) -> Positions:
        return {drained.segment: drained.end for drained in self.ranges}

    def keep_lines(self, count: int) -> None:
        """Keep the first `count` lines; the next batch gets the others."""
        ranges, self.ranges = self.ranges, []
        for segment_range, lines in zip(ranges, self.lines, strict=True):
            if count > 0:
                remaining = sum(len(line) + 1 for line in lines[count:])
                self.ranges.append(replace(segment_range, end=segment_range.end - remaining))
            count -= len(lines)
