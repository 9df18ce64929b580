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

-- what_is_left: whether a domain is ready (now or later) or held, or links are on their way, or a node
-- loads seeds and was heard of within one lease time; and, if not, whether one sleeps with something queued, or fell asleep so lately
-- that something may be on its way: one statement, or something might move from what is looked at late
-- to what was looked at early. The line is looked at from its end: at its front may be rows that are
-- gone and still remembered
SELECT busy, NOT busy AND (
    (SELECT id FROM domains WHERE idle AND queued > 0 LIMIT 1) IS NOT NULL
    OR (SELECT id FROM asleep LIMIT 1) IS NOT NULL) FROM (
    SELECT (SELECT ready_at FROM ready ORDER BY ready_at DESC LIMIT 1) IS NOT NULL
        OR (SELECT id FROM held LIMIT 1) IS NOT NULL
        OR (SELECT key FROM inbox ORDER BY key LIMIT 1) IS NOT NULL
        OR EXISTS (SELECT 1 FROM crawl WHERE key >= 'loading:' AND key < 'loading;'
            AND value::int8 + %(lease)s > (SELECT coalesce(
                %(now)s::int8, (extract(epoch FROM clock_timestamp()) * 1000)::int8))) AS busy
    OFFSET 0) AS looked;
