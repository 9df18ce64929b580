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
    SELECT 1 FROM domains WHERE engine_id >= 0 LIMIT %(limit)s) AS counted;

-- segments: the committed length of every segment
SELECT kind, id, length FROM segments;

-- newest_time: the newest moment that the store knows of
SELECT coalesce(max(renewed_ms), 0) FROM engines;

-- any_live_domain: a domain that is ready (now or later) or held
SELECT 1 FROM domains WHERE engine_id >= 0 LIMIT 1;

-- any_queued: a URL is queued
SELECT 1 FROM queue LIMIT 1;

-- sweep: a lost wake-up heals: every idle domain with something queued is ready again
UPDATE domains SET engine_id = 0, ready_at = polite_at
WHERE engine_id = -1 AND id IN (SELECT domain_id FROM queue);

-- any_loading: a node that loads seeds and was heard of within one lease time
SELECT 1 FROM crawl WHERE key >= 'loading:' AND key < 'loading;'
    AND value::int8 + %(lease)s > (
        SELECT coalesce(%(now)s::int8, (extract(epoch FROM clock_timestamp()) * 1000)::int8))
LIMIT 1;

-- wait_as_much_longer: the delay grew: who waits since a visit does so for as much longer, and nobody
-- for longer than the whole delay from now on
WITH waiting AS MATERIALIZED (
    SELECT id FROM domains
    WHERE engine_id <= 0 AND delay_ms < %(delay)s
        AND polite_at > %(now)s - %(delay)s + greatest(delay_ms, %(before)s)
    ORDER BY id FOR UPDATE
)
UPDATE domains AS d SET
    polite_at = greatest(polite_at,
        least(polite_at + %(delay)s - greatest(delay_ms, %(before)s), %(now)s + %(delay)s)),
    ready_at = greatest(ready_at,
        least(polite_at + %(delay)s - greatest(delay_ms, %(before)s), %(now)s + %(delay)s))
FROM waiting WHERE d.id = waiting.id;

-- wait_no_longer: the delay shrank: nobody waits for longer than it from now on, but those whose sites
-- are busy, and those whose robots.txt may ask for a Crawl-delay that nobody noted (a line with a C, or
-- packed rules: a Z)
WITH waiting AS MATERIALIZED (
    SELECT id FROM domains AS w
    WHERE engine_id <= 0 AND failures = 0
        AND polite_at > %(now)s + greatest(delay_ms, %(delay)s)
        AND (delay_ms > 0 OR NOT EXISTS (
            SELECT 1 FROM origins WHERE domain_id = w.id
                AND (substring(rules from 1 for 1) IN ('\x43'::bytea, '\x5a'::bytea)
                    OR position('\x0a43'::bytea in rules) > 0)))
    ORDER BY id FOR UPDATE
)
UPDATE domains AS d SET
    polite_at = %(now)s + greatest(delay_ms, %(delay)s),
    ready_at = CASE WHEN ready_at = polite_at THEN %(now)s + greatest(delay_ms, %(delay)s)
        ELSE ready_at END
FROM waiting WHERE d.id = waiting.id;
