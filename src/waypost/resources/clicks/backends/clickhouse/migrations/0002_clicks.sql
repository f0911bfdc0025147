-- All ids are the 16 bytes of a UUID, so that they are sorted as in the other databases. `day` is days since 1970, in UTC.
-- Rows of a day are stored together: that is what lists, retention and the count of visitors read. `target` is the name
-- of the rule or variant that a visitor was sent to, or `default`; empty for a link without rules and variants.

CREATE TABLE clicks {on_cluster}
(
    account_id FixedString(16),
    day Int32 CODEC(Delta, ZSTD),
    link_id FixedString(16) CODEC(ZSTD),
    created_at DateTime64(6, 'UTC') CODEC(Delta, ZSTD),
    id FixedString(16) CODEC(ZSTD),
    kind LowCardinality(String),
    bot LowCardinality(String),
    is_scan Bool,
    ip String CODEC(ZSTD),
    country LowCardinality(String),
    visitor_id Int64,
    referrer String CODEC(ZSTD),
    device LowCardinality(String),
    browser LowCardinality(String),
    platform LowCardinality(String),
    batch LowCardinality(String),
    target LowCardinality(String)
)
ENGINE = {replicated}MergeTree
PARTITION BY toYYYYMM(created_at)
ORDER BY (account_id, day, link_id, created_at, id)
SETTINGS {deduplication};

-- Sums of a quarter of an hour, 0 to 95, of a link or an account. Exact: written with the clicks.
CREATE TABLE click_counts {on_cluster}
(
    subject_id FixedString(16),
    day Int32,
    quarter UInt8,
    account_id SimpleAggregateFunction(any, FixedString(16)),
    clicks SimpleAggregateFunction(sum, UInt64),
    crawlers SimpleAggregateFunction(sum, UInt64),
    previews SimpleAggregateFunction(sum, UInt64),
    prefetches SimpleAggregateFunction(sum, UInt64),
    scans SimpleAggregateFunction(sum, UInt64),
    first_at SimpleAggregateFunction(min, Nullable(DateTime64(6, 'UTC'))) CODEC(ZSTD),
    last_at SimpleAggregateFunction(max, Nullable(DateTime64(6, 'UTC'))) CODEC(ZSTD)
)
ENGINE = {replicated}AggregatingMergeTree
PARTITION BY intDiv(day, 366)
ORDER BY (subject_id, day, quarter)
SETTINGS {deduplication};

CREATE MATERIALIZED VIEW click_counts_of_clicks {on_cluster} TO click_counts AS
SELECT
    subject_id,
    day,
    quarter,
    any(account) AS account_id,
    countIf(kind = 'human') AS clicks,
    countIf(kind = 'crawler') AS crawlers,
    countIf(kind = 'preview') AS previews,
    countIf(kind = 'prefetch') AS prefetches,
    countIf(kind = 'human' AND is_scan) AS scans,
    minOrNullIf(created_at, kind = 'human') AS first_at,
    maxOrNullIf(created_at, kind = 'human') AS last_at
FROM
(
    SELECT
        arrayJoin([account_id, link_id]) AS subject_id,
        day,
        toUInt8(intDiv(toUnixTimestamp64Micro(created_at), 900000000) - toInt64(day) * 96) AS quarter,
        account_id AS account,
        kind,
        is_scan,
        created_at
    FROM clicks
)
GROUP BY subject_id, day, quarter;

-- Clicks of people by value. The dimensions have the numbers of model.py.
CREATE TABLE click_dimensions {on_cluster}
(
    subject_id FixedString(16),
    dimension UInt8,
    day Int32,
    value String CODEC(ZSTD),
    account_id SimpleAggregateFunction(any, FixedString(16)),
    clicks SimpleAggregateFunction(sum, UInt64)
)
ENGINE = {replicated}AggregatingMergeTree
PARTITION BY intDiv(day, 366)
ORDER BY (subject_id, dimension, day, value)
SETTINGS {deduplication};

CREATE MATERIALIZED VIEW click_dimensions_of_clicks {on_cluster} TO click_dimensions AS
SELECT
    tupleElement(counted, 1) AS subject_id,
    tupleElement(counted, 2) AS dimension,
    day,
    tupleElement(counted, 3) AS value,
    any(account) AS account_id,
    count() AS clicks
FROM
(
    SELECT
        day,
        account_id AS account,
        concat(device, '\t', browser, '\t', platform) AS agent,
        arrayJoin(arrayConcat(
            [
                (account_id, toUInt8(1), toString(country)),
                (link_id, toUInt8(1), toString(country)),
                (account_id, toUInt8(2), referrer),
                (link_id, toUInt8(2), referrer),
                (account_id, toUInt8(3), agent),
                (link_id, toUInt8(3), agent),
                (account_id, toUInt8(4), lower(hex(link_id)))
            ],
            if(target = '', [], [(link_id, toUInt8(5), toString(target))])
        )) AS counted
    FROM clicks
    WHERE kind = 'human'
)
GROUP BY subject_id, dimension, day, value;

-- Visitors of each quarter, and of whole days (quarter -1), once a day is over. `counted`: the clicks of people that the
-- subject had on that day when its visitors were counted; with more clicks since, the row is outdated.
CREATE TABLE visitor_counts {on_cluster}
(
    subject_id FixedString(16),
    day Int32,
    quarter Int8,
    account_id FixedString(16),
    counted UInt64,
    visitors UInt64,
    new_in_15 UInt64,
    new_in_30 UInt64,
    new_in_45 UInt64,
    firsts UInt64,
    lasts UInt64
)
ENGINE = {replicated}ReplacingMergeTree(counted)
PARTITION BY intDiv(day, 366)
ORDER BY (subject_id, day, quarter);

-- The clicks of all subjects on a day when its visitors were counted.
CREATE TABLE visitor_count_days {on_cluster} (day Int32, clicks UInt64)
ENGINE = {replicated}ReplacingMergeTree(clicks)
ORDER BY day;
