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
