-- setting_get: one setting of the crawl
SELECT value FROM crawl WHERE key = %(key)s;

-- setting_put: one setting of the crawl
INSERT INTO crawl (key, value) VALUES (%(key)s, %(value)s)
ON CONFLICT (key) DO UPDATE SET value = excluded.value;

-- exclusions: the domains, suffixes and patterns that are never fetched
SELECT line FROM exclusions ORDER BY line;

-- exclusion_insert: one more
INSERT INTO exclusions (line) VALUES (%(line)s) ON CONFLICT DO NOTHING;

-- rules_changed: engines hear of new exclusions by this number
INSERT INTO crawl (key, value) VALUES ('rules_version', '1')
ON CONFLICT (key) DO UPDATE SET value = (crawl.value::int8 + 1)::text;

-- backlog: URLs queued and domains known, from what the engines have counted
SELECT coalesce(sum(queued), 0)::int8, coalesce(sum(domains), 0)::int8 FROM engines;

-- active_count: how many domains have something left to fetch, counted no further than a limit
SELECT count(*) FROM (
    SELECT 1 FROM held UNION ALL SELECT 1 FROM ready LIMIT %(limit)s) AS counted;

-- segments: the committed length of every segment
SELECT kind, id, length FROM segments;

-- newest_time: the newest moment that the store knows of
SELECT coalesce(max(renewed_ms), 0) FROM engines;

-- what_is_left: whether a domain is ready (now or later) or held or a node loads seeds and was heard of
-- within one lease time; and, if not, whether a URL is queued: one statement, or something might move from
-- what is looked at late to what was looked at early. The line is looked at from its end: at its front
-- may be rows that are gone and still remembered
SELECT busy, NOT busy AND (SELECT domain_id FROM queue LIMIT 1) IS NOT NULL FROM (
    SELECT (SELECT ready_at FROM ready ORDER BY ready_at DESC LIMIT 1) IS NOT NULL
        OR (SELECT id FROM held LIMIT 1) IS NOT NULL
        OR EXISTS (SELECT 1 FROM crawl WHERE key >= 'loading:' AND key < 'loading;'
            AND value::int8 + %(lease)s > (SELECT coalesce(
                %(now)s::int8, (extract(epoch FROM clock_timestamp()) * 1000)::int8))) AS busy
    OFFSET 0) AS looked;

-- sweep: a lost wake-up heals: every idle domain with something queued is ready again
WITH woken AS (
    UPDATE domains SET idle = false WHERE idle AND id IN (SELECT domain_id FROM queue)
    RETURNING greatest(polite_at, not_before) AS ready_at, id, pages, queued
)
INSERT INTO ready (ready_at, id, pages, queued) SELECT * FROM woken
ON CONFLICT DO NOTHING;

-- wait_as_much_longer: the delay grew: who waits since a visit does so for as much longer, and nobody
-- for longer than the whole delay from now on; who only waits for retries goes by its last visit
WITH waiting AS MATERIALIZED (
    SELECT r.ready_at, r.id, d.wait_at > 0 AS waits, d.polite_at,
        least(CASE WHEN d.wait_at > 0 THEN d.polite_at ELSE r.ready_at END
            + %(delay)s - greatest(d.delay_ms, %(before)s), %(now)s + %(delay)s) AS later
    FROM ready AS r JOIN domains AS d ON d.id = r.id
    WHERE r.ready_at > %(now)s - %(delay)s + %(before)s AND d.polite_at > 0
        AND d.delay_ms < %(delay)s
        AND CASE WHEN d.wait_at > 0 THEN d.polite_at ELSE r.ready_at END
            > %(now)s - %(delay)s + greatest(d.delay_ms, %(before)s)
    ORDER BY r.ready_at, r.id FOR UPDATE OF r
), moved AS (
    UPDATE ready AS r SET ready_at = greatest(r.ready_at, waiting.later)
    FROM waiting WHERE r.ready_at = waiting.ready_at AND r.id = waiting.id
)
UPDATE domains AS d SET polite_at = greatest(d.polite_at, waiting.later),
    wait_at = greatest(d.wait_at, waiting.later)
FROM waiting WHERE waiting.waits AND d.id = waiting.id;

-- wait_as_much_longer_later: the same of those that are idle
UPDATE domains SET polite_at = greatest(polite_at,
    least(polite_at + %(delay)s - greatest(delay_ms, %(before)s), %(now)s + %(delay)s))
WHERE idle AND delay_ms < %(delay)s
    AND polite_at > %(now)s - %(delay)s + greatest(delay_ms, %(before)s);

-- wait_no_longer: the delay shrank: nobody waits for longer than it from now on, but those who wait for
-- a retry, those whose sites are busy, and those whose robots.txt may ask for a Crawl-delay that nobody
-- noted (a line with a C, or packed rules: a Z)
WITH waiting AS MATERIALIZED (
    SELECT r.ready_at, r.id, %(now)s + greatest(d.delay_ms, %(delay)s) AS sooner
    FROM ready AS r JOIN domains AS d ON d.id = r.id
    WHERE r.ready_at > %(now)s + %(delay)s
        AND r.ready_at > %(now)s + greatest(d.delay_ms, %(delay)s)
        AND d.wait_at = 0 AND d.failures = 0
        AND (d.delay_ms > 0 OR NOT EXISTS (
            SELECT 1 FROM origins WHERE domain_id = d.id
                AND (substring(rules from 1 for 1) IN ('\x43'::bytea, '\x5a'::bytea)
                    OR position('\x0a43'::bytea in rules) > 0)))
    ORDER BY r.ready_at, r.id FOR UPDATE OF r
)
UPDATE ready AS r SET ready_at = waiting.sooner
FROM waiting WHERE r.ready_at = waiting.ready_at AND r.id = waiting.id;

-- wait_no_longer_later: the same of what the rows of domains say
UPDATE domains AS d SET polite_at = least(polite_at, %(now)s + greatest(delay_ms, %(delay)s)),
    not_before = least(not_before, %(now)s + greatest(delay_ms, %(delay)s))
WHERE greatest(polite_at, not_before) > %(now)s + greatest(delay_ms, %(delay)s) AND failures = 0
    AND (delay_ms > 0 OR NOT EXISTS (
        SELECT 1 FROM origins WHERE domain_id = d.id
            AND (substring(rules from 1 for 1) IN ('\x43'::bytea, '\x5a'::bytea)
                OR position('\x0a43'::bytea in rules) > 0)));
