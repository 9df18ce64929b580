-- last_batch: the number of the last batch that was applied, and the pages by outcome until then
SELECT last_batch, outcomes FROM engines WHERE id = %(engine_id)s;

-- page_insert: URLs are done; tells which were not before
INSERT INTO pages ({page_columns})
SELECT * FROM unnest({page_values})
ON CONFLICT (domain_id, fp) DO NOTHING RETURNING domain_id, fp;

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
    (SELECT coalesce(sum(domains), 0)::int8 FROM engines),
    (SELECT count(*) FROM engines WHERE NOT dead),
    (SELECT split_part(value, ':', 1)::int8 FROM crawl
    WHERE key = 'wants_domains' AND split_part(value, ':', 2)::int8 > (
        SELECT coalesce(%(now)s::int8, (extract(epoch FROM clock_timestamp()) * 1000)::int8)));
