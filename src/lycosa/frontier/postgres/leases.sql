-- any_ready: whether a domain is ready: looking costs no write
SELECT 1 FROM ready
WHERE ready_at >= %(front)s AND ready_at <= (
    SELECT coalesce(%(now)s::int8, (extract(epoch FROM clock_timestamp()) * 1000)::int8))
LIMIT 1;

-- lease: the longest waiting domains leave the line, within a budget of robots rules, each with what
-- its row says (nothing, if there is none); from `front` on, where the last look ended
WITH head AS MATERIALIZED (
    SELECT ready_at, id FROM ready
    WHERE ready_at >= %(front)s AND ready_at <= %(now)s
    ORDER BY ready_at, id LIMIT %(limit)s FOR UPDATE SKIP LOCKED
), sized AS MATERIALIZED (
    SELECT head.ready_at, head.id, row_number() OVER w AS place, sum(robots.size) OVER w AS total
    FROM head CROSS JOIN LATERAL (
        SELECT coalesce(sum(octet_length(rules)), 0) AS size FROM origins
        WHERE domain_id = head.id) AS robots
    WINDOW w AS (ORDER BY head.ready_at, head.id)
), gone AS (
    DELETE FROM ready AS r USING sized
    WHERE r.ready_at = sized.ready_at AND r.id = sized.id
        AND (sized.place = 1 OR sized.total <= %(budget)s)
    RETURNING r.ready_at, r.id, r.pages, r.queued, sized.total
)
SELECT gone.id, gone.ready_at, gone.pages, gone.queued, gone.total::int8, d.name, d.delay_ms,
    d.failures, d.seeded, d.idle, greatest(d.polite_at, d.not_before), d.wait_at
FROM gone LEFT JOIN domains AS d ON d.id = gone.id;

-- hold: domains that left the line go to their engine; tells which, and not those that were held
INSERT INTO held (id, engine_id, pages, queued)
SELECT id, %(engine_id)s, pages, queued
FROM unnest(%(ids)s, %(pages)s, %(queued)s) AS u (id, pages, queued)
ON CONFLICT (id) DO NOTHING RETURNING id;

-- stand_in_line: domains whose other token was taken in this transaction are ready from a moment on
INSERT INTO ready (ready_at, id, pages, queued)
SELECT * FROM unnest(%(moments)s, %(ids)s, %(pages)s, %(queued)s)
ON CONFLICT DO NOTHING;

-- wait_over: domains that only waited for retries have left their place in line
UPDATE domains SET wait_at = 0 WHERE id = ANY (%(ids)s) AND wait_at > 0;

-- held_unknown: domains that this engine holds without having heard of it (a commit was cut off)
SELECT d.id, d.name, d.delay_ms, d.failures, h.pages, h.queued, d.seeded
FROM held AS h JOIN domains AS d ON d.id = h.id
WHERE h.engine_id = %(engine_id)s AND h.id <> ALL (%(known)s);

-- not_held: a domain of these that this engine does not hold
SELECT u.id FROM unnest(%(ids)s) AS u (id)
LEFT JOIN held AS h ON h.id = u.id AND h.engine_id = %(engine_id)s
WHERE h.id IS NULL LIMIT 1;

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
