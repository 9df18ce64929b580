-- setting_get: one setting of the crawl
SELECT value FROM crawl WHERE key = :key;

-- setting_put: one setting of the crawl
INSERT INTO crawl (key, value) VALUES (:key, :value)
ON CONFLICT (key) DO UPDATE SET value = excluded.value;

-- exclusions: the domains, suffixes and patterns that are never fetched
SELECT line FROM exclusions ORDER BY line;

-- exclusion_insert: one more
INSERT INTO exclusions (line) VALUES (:line) ON CONFLICT DO NOTHING;

-- rules_changed: engines must read the exclusions again
UPDATE crawl SET value = CAST(value AS INTEGER) + 1 WHERE key = 'rules_version';

-- backlog: URLs queued and domains known, from what the engines have counted
SELECT sum(queued), sum(domains) FROM engines;

-- active_count: how many domains have something left to fetch, counted no further than a limit
SELECT count(*) FROM (SELECT 1 FROM held UNION ALL SELECT 1 FROM ready LIMIT :limit);

-- segments: the committed length of every segment
SELECT kind, id, length FROM segments;

-- newest_time: the newest moment that the store knows of: the clock never runs behind it
SELECT max(coalesce((SELECT max(renewed_ms) FROM engines), 0),
           coalesce((SELECT CAST(value AS INTEGER) FROM crawl WHERE key = 'clock_ms'), 0));

-- what_is_left: whether a domain is ready (now or later) or held, or links are on their way, or a node
-- loads seeds and was heard of within one lease time; and whether a domain sleeps with something queued:
-- one statement, or something might move from what is looked at late to what was looked at early
SELECT EXISTS (SELECT 1 FROM ready) OR EXISTS (SELECT 1 FROM held) OR EXISTS (SELECT 1 FROM inbox)
    OR EXISTS (SELECT 1 FROM crawl WHERE key >= 'loading:' AND key < 'loading;'
            AND CAST(value AS INTEGER) + :lease > :now),
    EXISTS (SELECT 1 FROM domains WHERE idle = 1 AND queued > 0);
