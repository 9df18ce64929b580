-- clock: the store's time: the server's, unless a test brings its own
SELECT coalesce(%(now)s::int8, (extract(epoch FROM clock_timestamp()) * 1000)::int8);

-- register: a new engine
INSERT INTO crawlers (host, pid, node, directory, started_ms, renewed_ms, lease_until)
VALUES (%(host)s, %(pid)s, %(node)s, %(directory)s, %(now)s, %(now)s, %(now)s::int8 + %(lease)s)
RETURNING id;

-- newest_time: the newest moment that the store knows of
SELECT coalesce(max(renewed_ms), 0) FROM crawlers;

-- fence: renew the lease, unless this engine was declared dead
UPDATE crawlers SET renewed_ms = clock.now, lease_until = clock.now + %(lease)s
FROM (SELECT coalesce(%(now)s::int8, (extract(epoch FROM clock_timestamp()) * 1000)::int8) AS now
    ) AS clock
WHERE id = %(owner)s AND NOT dead
RETURNING renewed_ms;

-- last_batch: the number of the last batch that was applied, and the pages by outcome until then
SELECT last_batch, outcomes FROM crawlers WHERE id = %(owner)s;

-- account: what a batch changed, in the engine's own row
UPDATE crawlers SET last_batch = %(number)s, pages = pages + %(pages)s,
    queued = queued + %(queued)s, domains = domains + %(domains)s,
    outcomes = %(outcomes)s, stats = %(stats)s
WHERE id = %(owner)s;

-- account_add: what seeds changed, in row 0, which belongs to nobody
INSERT INTO crawlers (id, host, pid, node, directory, started_ms, renewed_ms, lease_until, dead,
    queued, domains)
VALUES (0, '', 0, '', '', %(now)s, %(now)s, 0, true, %(queued)s, %(domains)s)
ON CONFLICT (id) DO UPDATE SET queued = crawlers.queued + excluded.queued,
    domains = crawlers.domains + excluded.domains;

-- outcomes_taken: what row 0 says of pages that people took back
SELECT outcomes FROM crawlers WHERE id = 0 FOR UPDATE;

-- account_again: pages became queued URLs again, or have another outcome now
UPDATE crawlers SET pages = pages - %(pages)s, queued = queued + %(queued)s,
    outcomes = %(outcomes)s
WHERE id = 0;

-- pages_again: pages are no longer done, unless their text is kept (or whether it is or not)
DELETE FROM pages AS p USING unnest(%(domains)s, %(fps)s) AS u (domain_id, fp)
WHERE p.domain_id = u.domain_id AND p.fp = u.fp AND (p.text_segment = 0 OR %(anyway)s)
RETURNING p.domain_id, p.fp, p.url, p.depth, p.status, p.outcome;

-- texts_lost: the text of pages is gone, and their outcome says so
UPDATE pages AS p SET outcome = %(outcome)s, text_segment = 0, text_frame = 0, text_offset = 0
FROM unnest(%(domains)s, %(fps)s) AS u (domain_id, fp)
WHERE p.domain_id = u.domain_id AND p.fp = u.fp AND p.outcome = 'ok';

-- warcs_lost: the WARC records of pages are gone
UPDATE pages AS p SET warc_segment = 0, warc_offset = 0
FROM unnest(%(domains)s, %(fps)s) AS u (domain_id, fp)
WHERE p.domain_id = u.domain_id AND p.fp = u.fp;

-- segment_shorten: less of a segment is left than was committed
UPDATE segments SET length = %(length)s
WHERE kind = %(kind)s AND id = %(id)s AND length > %(length)s;

-- seen_again: where their queue rows are now
INSERT INTO seen (domain_id, fp, ord) SELECT * FROM unnest(%(domains)s, %(fps)s, %(orders)s)
ON CONFLICT (domain_id, fp) DO UPDATE SET ord = excluded.ord;

-- domain_pages_less: fewer pages of these domains are done
UPDATE domains AS d SET pages = greatest(0, d.pages - u.pages)
FROM unnest(%(ids)s, %(pages)s) AS u (id, pages) WHERE d.id = u.id;

-- origins_again: origins that failed for good are tried again
UPDATE origins AS o SET failures = 0, retry_ms = 0, reason = ''
FROM unnest(%(ids)s, %(names)s) AS u (id, name)
WHERE o.domain_id = u.id AND o.origin = u.name AND (o.failures > 0 OR o.reason <> '');

-- any_ready: whether a domain is ready: looking costs no write
SELECT 1 FROM domains
WHERE lease_owner = 0 AND ready_at <= (
    SELECT coalesce(%(now)s::int8, (extract(epoch FROM clock_timestamp()) * 1000)::int8))
LIMIT 1;

-- lease: the longest waiting domains go to their new owner, within a budget of robots rules
WITH head AS MATERIALIZED (
    SELECT id, ready_at FROM domains
    WHERE lease_owner = 0 AND ready_at <= %(now)s
    ORDER BY ready_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED
), sized AS MATERIALIZED (
    SELECT head.id, row_number() OVER w AS place, sum(robots.size) OVER w AS total
    FROM head CROSS JOIN LATERAL (
        SELECT coalesce(sum(octet_length(rules)), 0) AS size FROM origins
        WHERE domain_id = head.id) AS robots
    WINDOW w AS (ORDER BY head.ready_at, head.id)
)
UPDATE domains AS d SET lease_owner = %(owner)s
FROM sized
WHERE d.id = sized.id AND (sized.place = 1 OR sized.total <= %(budget)s)
    AND d.lease_owner + 0 = 0  -- "+ 0" keeps the planner off the index of all ready domains
RETURNING d.id, d.name, d.ready_at, d.delay_ms, d.failures, d.pages, d.queued, d.seeded;

-- held_unknown: domains that this engine holds without having heard of it (a commit was cut off)
SELECT id, name, ready_at, delay_ms, failures, pages, queued, seeded FROM domains
WHERE lease_owner = %(owner)s AND id <> ALL (%(known)s);

-- origins_of: what is known of the origins of these domains
SELECT domain_id, origin, fetched_ms, status, rules, failures, retry_ms, reason, detail, aim, hops,
    asked_ms FROM origins WHERE domain_id = ANY (%(ids)s);

-- answers_to: what came of errands, as far as a budget of rules goes
SELECT domain_id, fp, url, fetched_ms, status, location, rules FROM (
    SELECT a.*, sum(octet_length(a.rules)) OVER (ORDER BY a.domain_id, a.fp) AS total
    FROM unnest(%(domains)s, %(fps)s) AS k (domain_id, fp)
    JOIN answers AS a ON a.domain_id = k.domain_id AND a.fp = k.fp) AS found
WHERE total <= %(budget)s;

-- needless: which errands are queued or have a good answer
SELECT k.domain_id, k.fp FROM unnest(%(domains)s, %(fps)s) AS k (domain_id, fp)
WHERE EXISTS (SELECT 1 FROM seen AS s WHERE s.domain_id = k.domain_id AND s.fp = k.fp)
    OR EXISTS (SELECT 1 FROM answers AS a WHERE a.domain_id = k.domain_id AND a.fp = k.fp
        AND a.status > 0 AND a.fetched_ms >= %(since)s);

-- last_errands: the delay of each domain, and the place of the last errand (8) in its waiting lane
SELECT d.id, d.delay_ms, (
    SELECT ord FROM queue AS q WHERE q.domain_id = d.id AND q.ord >= %(waiting)s AND q.flags & 8 > 0
    ORDER BY q.ord DESC LIMIT 1)
FROM domains AS d WHERE d.id = ANY (%(ids)s);

-- answer_upsert: what came of errands
INSERT INTO answers (domain_id, fp, url, fetched_ms, status, location, rules)
SELECT * FROM unnest(%(domains)s, %(fps)s, %(urls)s, %(fetched)s, %(statuses)s, %(locations)s,
    %(rules)s)
ON CONFLICT (domain_id, fp) DO UPDATE SET url = excluded.url, fetched_ms = excluded.fetched_ms,
    status = excluded.status, location = excluded.location, rules = excluded.rules;

-- answers_forget: those that serve nobody any more; never waits for another who forgets them
DELETE FROM answers WHERE (domain_id, fp) IN (
    SELECT domain_id, fp FROM answers WHERE fetched_ms < %(before)s FOR UPDATE SKIP LOCKED);

-- claim: addresses for errands, as far as nobody has them
INSERT INTO slots (address, owner, until_ms)
SELECT address, %(owner)s, %(until)s FROM unnest(%(addresses)s) AS u (address)
ON CONFLICT (address) DO UPDATE SET owner = excluded.owner, until_ms = excluded.until_ms
WHERE slots.until_ms <= %(now)s
RETURNING address;

-- slot_free: addresses are given back, from a moment on
UPDATE slots AS s SET until_ms = u.until FROM unnest(%(addresses)s, %(until)s) AS u (address, until)
WHERE s.address = u.address AND s.owner = %(owner)s;

-- slots_of_dead: no errand of a dead engine is under way: its addresses wait one delay
UPDATE slots SET until_ms = least(until_ms, %(since)s + %(delay)s::int8) WHERE owner = %(owner)s;

-- slots_forget: those that are free; never waits for another who claims one
DELETE FROM slots WHERE address IN (
    SELECT address FROM slots WHERE until_ms <= %(now)s FOR UPDATE SKIP LOCKED);

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

-- left_out_insert: the same of single URLs
INSERT INTO left_out (domain_id, fp, url, depth, flags)
SELECT * FROM unnest(%(domains)s, %(fps)s, %(urls)s, %(depths)s, %(flags)s);

-- left_out_trim: of what was left out, the newest are kept
DELETE FROM left_out WHERE id <= (SELECT max(id) FROM left_out) - %(most)s;

-- left_out_delete: URLs that are queued again
DELETE FROM left_out WHERE id = ANY (%(ids)s);

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

-- domain_states: what adding URLs to these domains depends on
SELECT id, {state_columns} FROM domains
WHERE id = ANY (%(ids)s);

-- known: which URLs were seen; those of domain n are fps[starts[n]:ends[n]]
SELECT u.domain_id, (
    SELECT array_agg(s.fp) FROM seen AS s
    WHERE s.domain_id = u.domain_id AND s.fp = ANY ((%(fps)s)[u.first:u.last]))
FROM (
    SELECT unnest(%(domains)s) AS domain_id, unnest(%(starts)s)::int4 AS first,
        unnest(%(ends)s)::int4 AS last) AS u;

-- seen_insert: URLs are seen for the first time; tells which were, for they enter the queue
INSERT INTO seen (domain_id, fp, ord) SELECT * FROM unnest(%(domains)s, %(fps)s, %(orders)s)
ON CONFLICT DO NOTHING RETURNING domain_id, fp;

-- queue_insert: URLs enter the queue
INSERT INTO queue (domain_id, fp, ord, depth, flags, url, attempts)
SELECT *, 0 FROM unnest(%(domains)s, %(fps)s, %(orders)s, %(depths)s, %(flags)s, %(urls)s);

-- domain_insert: domains are found; never visited, so ready since they were found
INSERT INTO domains (id, name, lease_owner, ready_at, polite_at, queued, seeded)
SELECT id, name, 0, ready, 0, queued, %(seeded)s
FROM unnest(%(ids)s, %(names)s, %(ready)s, %(queued)s) AS u (id, name, ready, queued)
ON CONFLICT (id) DO UPDATE SET lease_owner = 0, queued = domains.queued + excluded.queued,
    ready_at = greatest(domains.polite_at, %(now)s)
WHERE domains.lease_owner = -1
RETURNING (xmax = 0);  -- inserted, not updated

-- domain_wake: idle domains, or ones that only wait for retries, got URLs
UPDATE domains AS d SET lease_owner = 0, ready_at = greatest(d.polite_at, %(now)s),
    queued = d.queued + u.queued, seeded = d.seeded OR %(seeded)s
FROM unnest(%(ids)s, %(queued)s) AS u (id, queued)
WHERE d.id = u.id AND d.lease_owner + 0 <= 0
    AND (d.lease_owner + 0 = -1 OR d.ready_at > greatest(d.polite_at, %(now)s));

-- domain_seeded: known domains turn out to be seeds
UPDATE domains SET seeded = true WHERE id = ANY (%(ids)s) AND NOT seeded;

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

-- release: domains are given back: ready when their first URL is due, idle without one
UPDATE domains AS d SET
    lease_owner = CASE WHEN head.ord IS NULL THEN -1 ELSE 0 END,
    ready_at = greatest(u.polite, CASE WHEN head.ord >= %(waiting)s THEN head.ord - %(waiting)s
        ELSE 0 END),
    polite_at = u.polite, failures = u.failures, pages = u.pages, releases = d.releases + 1,
    queued = CASE WHEN head.ord IS NULL THEN 0
        WHEN (d.releases + 1) %% %(recount)s = 0 THEN (SELECT count(*) FROM (
            SELECT 1 FROM queue WHERE domain_id = d.id LIMIT %(cap)s) AS counted)
        ELSE greatest(1, u.queued) END
FROM unnest(%(ids)s, %(polite)s, %(failures)s, %(pages)s, %(queued)s)
    AS u (id, polite, failures, pages, queued)
LEFT JOIN LATERAL (
    SELECT ord FROM queue WHERE domain_id = u.id ORDER BY ord LIMIT 1) AS head ON true
WHERE d.id = u.id AND d.lease_owner + 0 = %(owner)s
RETURNING d.id, d.lease_owner;

-- wake_again: a URL came in the moment in which its domain was found to be idle
UPDATE domains AS d SET lease_owner = 0, ready_at = greatest(d.polite_at, %(now)s)
WHERE d.id = ANY (%(ids)s) AND d.lease_owner + 0 = -1
    AND EXISTS (SELECT 1 FROM queue AS q WHERE q.domain_id = d.id);

-- segment_upsert: how much of a segment is committed
INSERT INTO segments (kind, id, owner, length, closed)
VALUES (%(kind)s, %(id)s, %(owner)s, %(length)s, %(closed)s)
ON CONFLICT (kind, id) DO UPDATE SET length = excluded.length, closed = excluded.closed;

-- control: what engines must hear of
SELECT (SELECT sum(pages)::int8 FROM crawlers),
    (SELECT value FROM crawl WHERE key = 'stop'),
    (SELECT value FROM crawl WHERE key = 'rules_version'),
    (SELECT count(*) FROM crawlers WHERE NOT dead),
    (SELECT split_part(value, ':', 1)::int8 FROM crawl
    WHERE key = 'hungry' AND split_part(value, ':', 2)::int8 > (
        SELECT coalesce(%(now)s::int8, (extract(epoch FROM clock_timestamp()) * 1000)::int8)));

-- beg: of all engines that find no domain ready, the one that holds fewest says so for a while
INSERT INTO crawl (key, value) VALUES ('hungry', %(held)s::int8 || ':' || %(until)s::int8)
ON CONFLICT (key) DO UPDATE SET value = excluded.value
WHERE split_part(crawl.value, ':', 1)::int8 >= %(held)s::int8
    OR split_part(crawl.value, ':', 2)::int8 < %(now)s::int8;

-- backlog: URLs queued and domains known, from what the engines have counted
SELECT coalesce(sum(queued), 0)::int8, coalesce(sum(domains), 0)::int8 FROM crawlers;

-- expired: engines whose lease ended
SELECT id FROM crawlers WHERE NOT dead AND lease_until < %(now)s ORDER BY id;

-- bury_expired: engines whose lease ended: from now on all their writes are refused
UPDATE crawlers SET dead = true
WHERE NOT dead AND lease_until < %(now)s AND id <> ALL (%(known)s)
RETURNING id, lease_until;

-- declare_dead: from now on every write of this engine is refused
UPDATE crawlers SET dead = true WHERE id = %(owner)s AND NOT dead;

-- living: engines that were not declared dead, of one node or (by '') of all
SELECT id FROM crawlers WHERE NOT dead AND %(node)s IN ('', node) ORDER BY id;

-- everyone: every engine that ever worked on this crawl, of one node or (by '') of all
SELECT id FROM crawlers WHERE id > 0 AND %(node)s IN ('', node) ORDER BY id;

-- others: engines of other nodes whose lease runs, and nodes heard of while they start theirs
WITH clock AS MATERIALIZED (
    SELECT coalesce(%(now)s::int8, (extract(epoch FROM clock_timestamp()) * 1000)::int8) AS now)
SELECT (SELECT count(*) FROM crawlers
        WHERE NOT dead AND node <> %(node)s AND lease_until >= (SELECT now FROM clock))
    + (SELECT count(*) FROM crawl
       WHERE (key >= 'opened:' AND key < 'opened;' OR key >= 'loading:' AND key < 'loading;')
         AND key NOT IN ('opened:' || %(node)s, 'loading:' || %(node)s)
         AND value::int8 + %(lease)s > (SELECT now FROM clock));

-- open_lock: nodes that open the crawl wait here for each other
SELECT pg_advisory_lock(%(key)s);

-- open_unlock: the next one may
SELECT pg_advisory_unlock(%(key)s);

-- take_over: its domains wait one delay from the last moment it could have fetched
UPDATE domains SET lease_owner = 0,
    ready_at = greatest(ready_at, polite_at, %(since)s + greatest(delay_ms, %(delay)s)),
    polite_at = greatest(polite_at, %(since)s + greatest(delay_ms, %(delay)s))
WHERE lease_owner = %(owner)s;

-- recount_pages: a dead engine did not say how many pages it got of its domains
UPDATE domains AS d SET pages = (
    SELECT count(*) FROM pages AS p WHERE p.domain_id = d.id AND p.status > 0)
WHERE d.lease_owner = %(owner)s;

-- wait_longer: a dead engine had learnt of longer delays and never committed them
UPDATE domains AS d SET ready_at = greatest(d.ready_at, u.until),
    polite_at = greatest(d.polite_at, u.until)
FROM unnest(%(ids)s, %(until)s) AS u (id, until)
WHERE d.id = u.id AND d.lease_owner + 0 <= 0;

-- held_by: a domain that an engine holds
SELECT id FROM domains WHERE lease_owner = %(owner)s LIMIT 1;

-- any_live_domain: a domain that is ready (now or later) or held
SELECT 1 FROM domains WHERE lease_owner >= 0 LIMIT 1;

-- any_queued: a URL is queued
SELECT 1 FROM queue LIMIT 1;

-- any_loading: a node that loads seeds and was heard of within one lease time
SELECT 1 FROM crawl WHERE key >= 'loading:' AND key < 'loading;'
    AND value::int8 + %(lease)s > (
        SELECT coalesce(%(now)s::int8, (extract(epoch FROM clock_timestamp()) * 1000)::int8))
LIMIT 1;

-- sweep: a lost wake-up heals: every idle domain with something queued is ready again
UPDATE domains SET lease_owner = 0, ready_at = polite_at
WHERE lease_owner = -1 AND id IN (SELECT domain_id FROM queue);

-- suspect: an engine died while it parsed this URL
UPDATE queue SET flags = flags + 16
WHERE domain_id = %(id)s AND ord = %(ord)s AND fp = %(fp)s AND flags < 48;

-- crawl_begin: a crawl begins, or there is one already
INSERT INTO crawl (key, value) VALUES ('crawl_id', %(id)s) ON CONFLICT DO NOTHING;

-- setting_get: one setting of the crawl
SELECT value FROM crawl WHERE key = %(key)s;

-- setting_put: one setting of the crawl
INSERT INTO crawl (key, value) VALUES (%(key)s, %(value)s)
ON CONFLICT (key) DO UPDATE SET value = excluded.value;
