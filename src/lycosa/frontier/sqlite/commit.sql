-- last_batch: the number of the last batch that was applied, and the pages by outcome until then
SELECT last_batch, outcomes FROM engines WHERE id = :engine_id;

-- domain_delay: a domain asks for a delay of its own
UPDATE domains SET delay_ms = max(delay_ms, ?) WHERE id = ?;

-- origin_upsert: what is known of an origin changes (the brackets are repeated for many)
INSERT INTO origins (domain_id, origin, fetched_ms, status, rules, failures, retry_ms, reason,
    detail, aim, hops, asked_ms)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (domain_id, origin) DO UPDATE SET fetched_ms = excluded.fetched_ms,
    status = excluded.status, rules = excluded.rules, failures = excluded.failures,
    retry_ms = excluded.retry_ms, reason = excluded.reason, detail = excluded.detail,
    aim = excluded.aim, hops = excluded.hops, asked_ms = excluded.asked_ms;

-- segment_upsert: how much of a segment is committed
INSERT INTO segments (kind, id, engine_id, length, closed) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (kind, id) DO UPDATE SET length = excluded.length, closed = excluded.closed;

-- account: what a batch changed, in the engine's own row
UPDATE engines SET last_batch = :number, pages = pages + :pages, queued = queued + :queued,
    domains = domains + :domains, outcomes = :outcomes, stats = :stats
WHERE id = :engine_id;

-- control: what engines must hear of
SELECT (SELECT sum(pages) FROM engines),
       (SELECT value FROM crawl WHERE key = 'stop'),
       (SELECT value FROM crawl WHERE key = 'rules_version'),
       (SELECT coalesce(sum(domains), 0) FROM engines);
