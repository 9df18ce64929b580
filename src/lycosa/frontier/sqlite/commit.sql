-- last_batch: the number of the last batch that was applied, and the pages by outcome until then
SELECT last_batch, outcomes FROM engines WHERE id = :engine_id;

-- seen_order: where the queue row of a URL is or was
SELECT ord FROM seen WHERE domain_id = ? AND fp = ?;

-- queue_delete: a URL leaves the queue (the brackets are repeated for many)
DELETE FROM queue WHERE (domain_id = ? AND ord = ? AND fp = ?);

-- page_insert: a URL is done (the brackets are repeated for many)
INSERT INTO pages ({page_columns}) VALUES ({page_values});

-- purge_record: all queued URLs of an origin (or, from '' to '~', of a domain) fail for good;
-- errands (8), which are others', only if that is meant
INSERT INTO pages ({page_columns})
SELECT {failed_page}
FROM queue WHERE domain_id = :id AND url >= :low AND url < :high AND (:all OR NOT flags & 8);

-- purge_forget: URLs that a cap or an exclusion refuses are not remembered
DELETE FROM seen WHERE domain_id = :id AND fp IN (
    SELECT fp FROM queue
    WHERE domain_id = :id AND url >= :low AND url < :high AND (:all OR NOT flags & 8));

-- purge_keep: what an exclusion takes out of a domain's queue may be wanted again; not errands (8):
-- who waited for them hears that there is no answer, and asks anew if need be
INSERT INTO left_out (domain_id, fp, url, depth, flags)
SELECT domain_id, fp, url, depth, flags FROM queue
WHERE domain_id = :id AND url >= :low AND url < :high AND NOT flags & 8 ORDER BY ord;

-- purge_delete: they leave the queue
DELETE FROM queue WHERE domain_id = :id AND url >= :low AND url < :high AND (:all OR NOT flags & 8);

-- seen_delete: a URL that is refused is not remembered
DELETE FROM seen WHERE domain_id = ? AND fp = ?;

-- seen_move: its queue row has a new place
UPDATE seen SET ord = ? WHERE domain_id = ? AND fp = ?;

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

-- queue_count: how many rows a domain's queue has, counted no further than its cap
SELECT count(*) FROM (SELECT 1 FROM queue WHERE domain_id = ? LIMIT ?);

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
       (SELECT value FROM crawl WHERE key = 'rules_version');
