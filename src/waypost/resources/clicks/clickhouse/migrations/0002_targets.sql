-- The name of the rule or variant that a visitor was sent to, or `default`; empty for a link without rules and variants.
-- Only those that are not empty are counted, of links.

ALTER TABLE clicks {on_cluster} ADD COLUMN IF NOT EXISTS target LowCardinality(String);

ALTER TABLE click_dimensions_of_clicks {on_cluster} MODIFY QUERY
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
