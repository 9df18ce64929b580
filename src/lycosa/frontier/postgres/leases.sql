-- any_ready: whether a domain is ready: looking costs no write
SELECT 1 FROM domains
WHERE engine_id = 0 AND ready_at <= (
    SELECT coalesce(%(now)s::int8, (extract(epoch FROM clock_timestamp()) * 1000)::int8))
LIMIT 1;

-- lease: the longest waiting domains go to their new engine, within a budget of robots rules
WITH head AS MATERIALIZED (
    SELECT id, ready_at FROM domains
    WHERE engine_id = 0 AND ready_at <= %(now)s
    ORDER BY ready_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED
), sized AS MATERIALIZED (
    SELECT head.id, row_number() OVER w AS place, sum(robots.size) OVER w AS total
    FROM head CROSS JOIN LATERAL (
        SELECT coalesce(sum(octet_length(rules)), 0) AS size FROM origins
        WHERE domain_id = head.id) AS robots
    WINDOW w AS (ORDER BY head.ready_at, head.id)
)
UPDATE domains AS d SET engine_id = %(engine_id)s
FROM sized
WHERE d.id = sized.id AND (sized.place = 1 OR sized.total <= %(budget)s)
    AND d.engine_id + 0 = 0  -- "+ 0" keeps the planner off the index of all ready domains
RETURNING d.id, d.name, d.ready_at, d.delay_ms, d.failures, d.pages, d.queued, d.seeded;

-- held_unknown: domains that this engine holds without having heard of it (a commit was cut off)
SELECT id, name, ready_at, delay_ms, failures, pages, queued, seeded FROM domains
WHERE engine_id = %(engine_id)s AND id <> ALL (%(known)s);

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
