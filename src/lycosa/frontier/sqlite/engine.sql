-- register: a new engine
INSERT INTO crawlers (host, pid, started_ms, renewed_ms, lease_until)
VALUES (:host, :pid, :now, :now, :now + :lease);

-- newest_time: the newest moment that the store knows of: the clock never runs behind it
SELECT max(coalesce((SELECT max(renewed_ms) FROM crawlers), 0),
           coalesce((SELECT CAST(value AS INTEGER) FROM crawl WHERE key = 'clock_ms'), 0));

-- fence: renew the lease, unless this engine was declared dead
UPDATE crawlers SET renewed_ms = :now, lease_until = :now + :lease
WHERE id = :owner AND NOT dead;

-- last_batch: the number of the last batch that was applied, and the pages by outcome until then
SELECT last_batch, outcomes FROM crawlers WHERE id = :owner;

-- account: what a batch changed, in the engine's own row
UPDATE crawlers SET last_batch = :number, pages = pages + :pages, queued = queued + :queued,
    domains = domains + :domains, outcomes = :outcomes, stats = :stats
WHERE id = :owner;

-- account_add: what seeds changed, in row 0, which belongs to nobody
INSERT INTO crawlers (id, host, pid, started_ms, renewed_ms, lease_until, dead, queued, domains)
VALUES (0, '', 0, :now, :now, 0, 1, :queued, :domains)
ON CONFLICT (id) DO UPDATE SET queued = queued + :queued, domains = domains + :domains;

-- outcomes_taken: what row 0 says of pages that people took back
SELECT outcomes FROM crawlers WHERE id = 0;

-- account_again: pages became queued URLs again, or have another outcome now
UPDATE crawlers SET pages = pages - :pages, queued = queued + :queued, outcomes = :outcomes
WHERE id = 0;

-- page_again: a page that is done, unless its text is kept (or, by 1, whether it is or not)
SELECT domain_id, fp, url, depth, status, outcome FROM pages
WHERE domain_id = ? AND fp = ? AND (text_segment = 0 OR ?);

-- page_delete: a page is no longer done
DELETE FROM pages WHERE domain_id = ? AND fp = ?;

-- text_lost: the text of a page is gone, and its outcome says so
UPDATE pages SET outcome = ?, text_segment = 0, text_frame = 0, text_offset = 0
WHERE domain_id = ? AND fp = ? AND outcome = 'ok';

-- warc_lost: the WARC records of a page are gone
UPDATE pages SET warc_segment = 0, warc_offset = 0 WHERE domain_id = ? AND fp = ?;

-- segment_shorten: less of a segment is left than was committed
UPDATE segments SET length = ? WHERE kind = ? AND id = ? AND length > ?;

-- seen_again: where its queue row is now
INSERT INTO seen (domain_id, fp, ord) VALUES (?, ?, ?)
ON CONFLICT (domain_id, fp) DO UPDATE SET ord = excluded.ord;

-- domain_pages_less: fewer pages of a domain are done
UPDATE domains SET pages = max(0, pages - ?) WHERE id = ?;

-- origin_again: an origin that failed for good is tried again
UPDATE origins SET failures = 0, retry_ms = 0, reason = ''
WHERE domain_id = ? AND origin = ? AND (failures > 0 OR reason <> '');

-- lease_head: whether a domain is ready (the second condition is what the partial index asks for:
-- SQLite does not conclude it from the first)
SELECT 1 FROM domains WHERE lease_owner = 0 AND lease_owner >= 0 AND ready_at <= :now LIMIT 1;

-- lease_candidates: the domains that are ready, the longest waiting first, with the bytes of robots
-- rules that come with them
SELECT json_group_array(json_array(id, name, ready_at, delay_ms, failures, pages, queued, seeded,
    (SELECT coalesce(sum(length(rules)), 0) FROM origins WHERE domain_id = ready.id)))
FROM (
    SELECT * FROM domains WHERE lease_owner = 0 AND lease_owner >= 0 AND ready_at <= :now
    ORDER BY ready_at LIMIT :limit) AS ready;

-- lease_take: domains go to their new owner
UPDATE domains SET lease_owner = :owner
WHERE id IN (SELECT value FROM json_each(:ids)) AND +lease_owner = 0;

-- origins_of: what is known of the origins of domains
SELECT domain_id, origin, fetched_ms, status, rules, failures, retry_ms, reason, detail, aim, hops,
    asked_ms FROM origins WHERE domain_id IN (SELECT value FROM json_each(?));

-- answers_to: what came of errands, as far as a budget of rules goes: [domain, fp] in pairs
SELECT domain_id, fp, url, fetched_ms, status, location, rules FROM (
    SELECT a.*, sum(length(a.rules)) OVER (ORDER BY a.domain_id, a.fp) AS total
    FROM (SELECT DISTINCT value ->> 0 AS domain_id, value ->> 1 AS fp FROM json_each(:keys)) AS k
    CROSS JOIN answers AS a ON a.domain_id = k.domain_id AND a.fp = k.fp)
WHERE total <= :budget;

-- needless: which errands are queued or have a good answer: [domain, fp] in pairs
SELECT value ->> 0, value ->> 1 FROM json_each(:keys)
WHERE EXISTS (SELECT 1 FROM seen WHERE domain_id = value ->> 0 AND fp = value ->> 1)
    OR EXISTS (SELECT 1 FROM answers WHERE domain_id = value ->> 0 AND fp = value ->> 1
        AND status > 0 AND fetched_ms >= :since);

-- last_errands: the delay of each domain, and the place of the last errand (8) in its waiting lane
SELECT id, delay_ms, (
    SELECT ord FROM queue WHERE domain_id = domains.id AND ord >= :waiting AND flags & 8
    ORDER BY ord DESC LIMIT 1)
FROM domains WHERE id IN (SELECT value FROM json_each(:ids));

-- answer_upsert: what came of an errand
INSERT INTO answers (domain_id, fp, url, fetched_ms, status, location, rules)
VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (domain_id, fp) DO UPDATE SET url = excluded.url, fetched_ms = excluded.fetched_ms,
    status = excluded.status, location = excluded.location, rules = excluded.rules;

-- answers_forget: those that serve nobody any more
DELETE FROM answers WHERE fetched_ms < ?;

-- claim: an address for an errand, if nobody has it
INSERT INTO slots (address, owner, until_ms) VALUES (:address, :owner, :until)
ON CONFLICT (address) DO UPDATE SET owner = excluded.owner, until_ms = excluded.until_ms
WHERE slots.until_ms <= :now;

-- slot_free: an address is given back, from a moment on
UPDATE slots SET until_ms = ? WHERE address = ? AND owner = ?;

-- slots_of_dead: no errand of a dead engine is under way: its addresses wait one delay
UPDATE slots SET until_ms = min(until_ms, :since + :delay) WHERE owner = :owner;

-- slots_forget: those that are free
DELETE FROM slots WHERE until_ms <= ?;

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

-- seen_order: where the queue row of a URL is or was
SELECT ord FROM seen WHERE domain_id = ? AND fp = ?;

-- is_queued: whether a URL still has its queue row
SELECT 1 FROM queue WHERE domain_id = ? AND ord = ? AND fp = ?;

-- queue_delete: a URL leaves the queue (the brackets are repeated for many)
DELETE FROM queue WHERE (domain_id = ? AND ord = ? AND fp = ?);

-- queue_insert: a URL enters the queue
INSERT INTO queue (domain_id, ord, fp, url, depth, attempts, flags) VALUES (?, ?, ?, ?, ?, ?, ?);

-- seen_insert: a URL is seen for the first time, or nothing happens
INSERT INTO seen (domain_id, fp, ord) VALUES (?, ?, ?) ON CONFLICT DO NOTHING;

-- seen_first: the URLs of each domain that were seen, so far as they are few
SELECT json_group_array(json_array(each.value, json((
    SELECT json_group_array(fp) FROM (SELECT fp FROM seen WHERE domain_id = each.value LIMIT ?)))))
FROM json_each(?) AS each;

-- seen_among: which of a domain's URLs were seen
SELECT json_group_array(fp) FROM seen
WHERE domain_id = ? AND fp IN (SELECT value FROM json_each(?));

-- seen_insert_rows: URLs of one domain are seen for the first time (the rows are added in the code)
INSERT INTO seen (domain_id, fp, ord) VALUES

-- queue_insert_rows: they enter the queue (the rows are added in the code)
INSERT INTO queue (domain_id, ord, fp, url, depth, attempts, flags) VALUES

-- seen_delete: a URL that is refused is not remembered
DELETE FROM seen WHERE domain_id = ? AND fp = ?;

-- seen_move: its queue row has a new place
UPDATE seen SET ord = ? WHERE domain_id = ? AND fp = ?;

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

-- left_out_insert: the same of one URL
INSERT INTO left_out (domain_id, fp, url, depth, flags) VALUES (?, ?, ?, ?, ?);

-- left_out_trim: of what was left out, the newest are kept
DELETE FROM left_out WHERE id <= (SELECT max(id) FROM left_out) - ?;

-- left_out_delete: URLs that are queued again
DELETE FROM left_out WHERE id IN (SELECT value FROM json_each(?));

-- purge_delete: they leave the queue
DELETE FROM queue WHERE domain_id = :id AND url >= :low AND url < :high AND (:all OR NOT flags & 8);

-- domain_states: what adding URLs to domains depends on
SELECT json_group_array(json_array(id, {state_columns}))
FROM domains WHERE id IN (SELECT value FROM json_each(?));

-- domain_insert: a domain is found; never visited, so ready since it was found
INSERT INTO domains (id, name, lease_owner, ready_at, polite_at, queued, seeded)
VALUES (:id, :name, 0, :ready, 0, :queued, :seeded);

-- domain_insert_new: a seed's domain, if it is not known; its rank is its place in the line
INSERT INTO domains (id, name, lease_owner, ready_at, polite_at, queued, seeded)
VALUES (?, ?, 0, ?, 0, ?, 1) ON CONFLICT DO NOTHING;

-- domain_wake: an idle domain, or one that only waits for retries, got a URL
UPDATE domains SET lease_owner = 0, ready_at = max(polite_at, :now), queued = queued + :queued,
    seeded = max(seeded, :seeded)
WHERE id = :id AND lease_owner <= 0;

-- domain_seeded: a known domain turns out to be a seed
UPDATE domains SET seeded = 1 WHERE id = ?;

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

-- release_states: which domains are still ours, how often each was released, the first row of its
-- queue (`+`: by id, not by a walk over all that we hold)
SELECT json_group_array(json_array(
    id, releases, (SELECT ord FROM queue WHERE domain_id = domains.id ORDER BY ord LIMIT 1)))
FROM domains WHERE id IN (SELECT value FROM json_each(?)) AND +lease_owner = ?;

-- release: a domain is given back (the brackets are repeated for many): its id, who has it now, and
-- what is written, in order
UPDATE domains SET lease_owner = column3, ready_at = column4, polite_at = column5,
    failures = column6, pages = column7, queued = column8, releases = releases + 1
FROM (VALUES (?, ?, ?, ?, ?, ?, ?, ?)) WHERE id = column1 AND +lease_owner = column2;

-- segment_upsert: how much of a segment is committed
INSERT INTO segments (kind, id, owner, length, closed) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (kind, id) DO UPDATE SET length = excluded.length, closed = excluded.closed;

-- control: what engines must hear of
SELECT (SELECT sum(pages) FROM crawlers),
       (SELECT value FROM crawl WHERE key = 'stop'),
       (SELECT value FROM crawl WHERE key = 'rules_version');

-- backlog: URLs queued and domains known, from what the engines have counted
SELECT sum(queued), sum(domains) FROM crawlers;

-- expired: engines whose lease ended
SELECT id, lease_until FROM crawlers WHERE NOT dead AND lease_until < :now;

-- everyone: every engine that ever worked on this crawl
SELECT id FROM crawlers WHERE id > 0;

-- living: engines that were not declared dead
SELECT id FROM crawlers WHERE NOT dead;

-- declare_dead: from now on every write of this engine is refused
UPDATE crawlers SET dead = 1 WHERE id = ? AND NOT dead;

-- take_over: its domains wait one delay from the last moment it could have fetched
UPDATE domains SET lease_owner = 0,
    ready_at = max(ready_at, polite_at, :since + max(delay_ms, :delay)),
    polite_at = max(polite_at, :since + max(delay_ms, :delay))
WHERE lease_owner = :owner AND lease_owner >= 0;

-- recount_pages: a dead engine did not say how many pages it got of its domains
UPDATE domains SET pages = (
    SELECT count(*) FROM pages WHERE domain_id = domains.id AND status > 0)
WHERE lease_owner = :owner AND lease_owner >= 0;

-- wait_longer: a dead engine had learnt of a longer delay and never committed it
UPDATE domains SET ready_at = max(ready_at, :until), polite_at = max(polite_at, :until)
WHERE id = :id AND lease_owner <= 0;

-- held_by: the domains that an engine holds
SELECT id FROM domains WHERE lease_owner = ? AND lease_owner >= 0;

-- any_live_domain: a domain that is ready (now or later) or held
SELECT 1 FROM domains WHERE lease_owner >= 0 LIMIT 1;

-- any_queued: a URL is queued
SELECT domain_id FROM queue LIMIT 1;

-- sweep: a lost wake-up heals: every idle domain with something queued is ready again
UPDATE domains SET lease_owner = 0, ready_at = polite_at
WHERE lease_owner = -1 AND id IN (SELECT DISTINCT domain_id FROM queue);

-- suspect: an engine died while it parsed this URL
UPDATE queue SET flags = flags + 16
WHERE domain_id = ? AND ord = ? AND fp = ? AND flags < 48;

-- setting_get: one setting of the crawl
SELECT value FROM crawl WHERE key = :key;

-- rules_changed: engines must read the exclusions again
UPDATE crawl SET value = CAST(value AS INTEGER) + 1 WHERE key = 'rules_version';

-- setting_put: one setting of the crawl
INSERT INTO crawl (key, value) VALUES (:key, :value)
ON CONFLICT (key) DO UPDATE SET value = excluded.value;
