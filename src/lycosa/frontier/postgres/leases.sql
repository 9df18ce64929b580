-- ask_for_domains: of all engines that find no domain ready, the one that holds fewest says so for a while
INSERT INTO crawl (key, value) VALUES ('wants_domains', %(held)s::int8 || ':' || %(until)s::int8)
ON CONFLICT (key) DO UPDATE SET value = excluded.value
WHERE split_part(crawl.value, ':', 1)::int8 >= %(held)s::int8
    OR split_part(crawl.value, ':', 2)::int8 < %(now)s::int8;

-- origins_of: what is known of the origins of these domains
SELECT domain_id, origin, fetched_ms, status, rules, failures, retry_ms, reason, detail, aim, hops,
    asked_ms FROM origins WHERE domain_id = ANY (%(ids)s);

-- next_urls: the next URLs of each domain: those that waited and are due, then those found first
SELECT d.id, q.ord, q.fp, q.url, q.depth, q.attempts, q.flags
FROM unnest(%(ids)s) AS d (id) CROSS JOIN LATERAL (
    SELECT * FROM (
        (SELECT ord, fp, url, depth, attempts, flags FROM queue
        WHERE domain_id = d.id AND ord >= %(waiting)s AND ord <= %(due)s
        ORDER BY ord LIMIT %(limit)s)
        UNION ALL
        (SELECT ord, fp, url, depth, attempts, flags FROM queue
        WHERE domain_id = d.id AND ord < %(waiting)s ORDER BY ord LIMIT %(limit)s)
    ) AS lanes LIMIT %(limit)s
) AS q;

-- settled: those URLs that are done: seen, and no longer in the queue
SELECT s.domain_id, s.fp
FROM unnest(%(domains)s, %(fps)s) AS u (domain_id, fp)
JOIN seen AS s ON s.domain_id = u.domain_id AND s.fp = u.fp
WHERE NOT EXISTS (
    SELECT 1 FROM queue AS q WHERE q.domain_id = s.domain_id AND q.ord = s.ord AND q.fp = s.fp);
