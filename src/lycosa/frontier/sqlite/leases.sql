-- origins_of: what is known of the origins of domains
SELECT domain_id, origin, fetched_ms, status, rules, failures, retry_ms, reason, detail, aim, hops,
    asked_ms FROM origins WHERE domain_id IN (SELECT value FROM json_each(?));

-- next_urls: the next URLs of each domain: those that waited and are due, then those found first
SELECT json_group_array(json_array(each.value, json((
    SELECT json_group_array(json_array(ord, fp, url, depth, attempts, flags)) FROM (
        SELECT * FROM (
            SELECT * FROM queue
            WHERE domain_id = each.value AND ord >= :waiting AND ord <= :waiting + :now
            ORDER BY ord LIMIT :limit)
        UNION ALL
        SELECT * FROM (
            SELECT * FROM queue WHERE domain_id = each.value AND ord < :waiting
            ORDER BY ord LIMIT :limit)
        LIMIT :limit)))))
FROM json_each(:ids) AS each;

-- is_queued: whether a URL still has its queue row
SELECT 1 FROM queue WHERE domain_id = ? AND ord = ? AND fp = ?;
