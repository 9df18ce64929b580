-- last_batch: the number of the last batch that was applied, and the pages by outcome until then
SELECT last_batch, outcomes FROM engines WHERE id = %(engine_id)s;

-- first_seen: URLs that were reached before anybody queued them
INSERT INTO seen (domain_id, fp, ord)
SELECT *, 0 FROM unnest(%(domains)s, %(fps)s) ON CONFLICT DO NOTHING
RETURNING domain_id, fp;

-- seen_orders: where the queue rows of these URLs are or were
SELECT s.domain_id, s.fp, s.ord
FROM unnest(%(domains)s, %(fps)s) AS u (domain_id, fp)
JOIN seen AS s ON s.domain_id = u.domain_id AND s.fp = u.fp;

-- queue_delete: URLs leave the queue
DELETE FROM queue AS q
USING unnest(%(domains)s, %(orders)s, %(fps)s) AS u (domain_id, ord, fp)
WHERE q.domain_id = u.domain_id AND q.ord = u.ord AND q.fp = u.fp
RETURNING q.domain_id, q.fp;

-- page_insert: URLs are done
INSERT INTO pages ({page_columns})
SELECT * FROM unnest({page_values});

-- purge_record: all queued URLs of an origin (or, from '' to '~', of a domain) fail for good;
-- errands (8), which are others', only if that is meant
WITH gone AS (
    DELETE FROM queue
    WHERE domain_id = %(id)s AND url >= %(low)s AND url < %(high)s
        AND (%(all)s OR flags & 8 = 0)
    RETURNING *
), kept AS (
    INSERT INTO pages ({page_columns})
    SELECT {failed_page} FROM gone
)
SELECT count(*) FROM gone;

-- purge_forget: URLs that a cap or an exclusion refuses are not remembered
WITH gone AS (
    DELETE FROM queue
    WHERE domain_id = %(id)s AND url >= %(low)s AND url < %(high)s
        AND (%(all)s OR flags & 8 = 0)
    RETURNING *
), forgotten AS (
    DELETE FROM seen AS s USING gone WHERE s.domain_id = gone.domain_id AND s.fp = gone.fp
)
SELECT count(*) FROM gone;

-- purge_exclude: the same, and what an exclusion takes out may be wanted again; not errands (8):
-- who waited for them hears that there is no answer, and asks anew if need be
WITH gone AS (
    DELETE FROM queue WHERE domain_id = %(id)s AND url >= %(low)s AND url < %(high)s RETURNING *
), forgotten AS (
    DELETE FROM seen AS s USING gone WHERE s.domain_id = gone.domain_id AND s.fp = gone.fp
), kept AS (
    INSERT INTO left_out (domain_id, fp, url, depth, flags)
    SELECT domain_id, fp, url, depth, flags FROM gone WHERE flags & 8 = 0 ORDER BY ord
)
SELECT count(*) FROM gone;

-- seen_delete: URLs that are refused are not remembered
DELETE FROM seen AS s USING unnest(%(domains)s, %(fps)s) AS u (domain_id, fp)
WHERE s.domain_id = u.domain_id AND s.fp = u.fp;

-- defer: URLs move to the waiting lane of their domain's queue
WITH gone AS (
    DELETE FROM queue AS q
    USING unnest(%(domains)s, %(orders)s, %(fps)s, %(until)s, %(attempts)s)
        AS u (domain_id, ord, fp, until, attempts)
    WHERE q.domain_id = u.domain_id AND q.ord = u.ord AND q.fp = u.fp
    RETURNING q.domain_id, q.fp, q.url, q.depth, q.flags, u.until, u.attempts
), moved AS (
    INSERT INTO queue (domain_id, ord, fp, url, depth, attempts, flags)
    SELECT domain_id, until, fp, url, depth, attempts, flags FROM gone
)
UPDATE seen AS s SET ord = gone.until FROM gone
WHERE s.domain_id = gone.domain_id AND s.fp = gone.fp;

-- domain_delay: domains ask for delays of their own
UPDATE domains AS d SET delay_ms = greatest(d.delay_ms, u.delay)
FROM unnest(%(ids)s, %(delays)s) AS u (id, delay) WHERE d.id = u.id;

-- origin_upsert: what is known of origins changes
INSERT INTO origins (domain_id, origin, fetched_ms, status, rules, failures, retry_ms, reason,
    detail, aim, hops, asked_ms)
SELECT * FROM unnest(%(domains)s, %(origins)s, %(fetched)s, %(statuses)s, %(rules)s,
    %(failures)s, %(retry)s, %(reasons)s, %(details)s, %(aims)s, %(hops)s, %(asked)s)
ON CONFLICT (domain_id, origin) DO UPDATE SET fetched_ms = excluded.fetched_ms,
    status = excluded.status, rules = excluded.rules, failures = excluded.failures,
    retry_ms = excluded.retry_ms, reason = excluded.reason, detail = excluded.detail,
    aim = excluded.aim, hops = excluded.hops, asked_ms = excluded.asked_ms;

-- segment_upsert: how much of a segment is committed
INSERT INTO segments (kind, id, engine_id, length, closed)
VALUES (%(kind)s, %(id)s, %(engine_id)s, %(length)s, %(closed)s)
ON CONFLICT (kind, id) DO UPDATE SET length = excluded.length, closed = excluded.closed;

-- account: what a batch changed, in the engine's own row
UPDATE engines SET last_batch = %(number)s, pages = pages + %(pages)s,
    queued = queued + %(queued)s, domains = domains + %(domains)s,
    outcomes = %(outcomes)s, stats = %(stats)s
WHERE id = %(engine_id)s;

-- control: what engines must hear of
SELECT (SELECT sum(pages)::int8 FROM engines),
    (SELECT value FROM crawl WHERE key = 'stop'),
    (SELECT value FROM crawl WHERE key = 'rules_version'),
    (SELECT count(*) FROM engines WHERE NOT dead),
    (SELECT split_part(value, ':', 1)::int8 FROM crawl
    WHERE key = 'wants_domains' AND split_part(value, ':', 2)::int8 > (
        SELECT coalesce(%(now)s::int8, (extract(epoch FROM clock_timestamp()) * 1000)::int8)));
