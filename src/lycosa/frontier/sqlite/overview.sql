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
SELECT count(*) FROM (SELECT 1 FROM domains WHERE engine_id >= 0 LIMIT :limit);

-- segments: the committed length of every segment
SELECT kind, id, length FROM segments;

-- newest_time: the newest moment that the store knows of: the clock never runs behind it
SELECT max(coalesce((SELECT max(renewed_ms) FROM engines), 0),
           coalesce((SELECT CAST(value AS INTEGER) FROM crawl WHERE key = 'clock_ms'), 0));

-- any_live_domain: a domain that is ready (now or later) or held
SELECT 1 FROM domains WHERE engine_id >= 0 LIMIT 1;

-- any_queued: a URL is queued
SELECT domain_id FROM queue LIMIT 1;

-- sweep: a lost wake-up heals: every idle domain with something queued is ready again
UPDATE domains SET engine_id = 0, ready_at = polite_at
WHERE engine_id = -1 AND id IN (SELECT DISTINCT domain_id FROM queue);

-- wait_as_much_longer: the delay grew: who waits since a visit does so for as much longer, and nobody
-- for longer than the whole delay from now on
UPDATE domains SET
    polite_at = max(polite_at, min(polite_at + :delay - max(delay_ms, :before), :now + :delay)),
    ready_at = max(ready_at, min(polite_at + :delay - max(delay_ms, :before), :now + :delay))
WHERE engine_id <= 0 AND delay_ms < :delay AND polite_at > :now - :delay + max(delay_ms, :before);

-- wait_no_longer: the delay shrank: nobody waits for longer than it from now on, but those whose sites
-- are busy, and those whose robots.txt may ask for a Crawl-delay that nobody noted (a line with a C, or
-- packed rules: a Z)
UPDATE domains SET
    polite_at = :now + max(delay_ms, :delay),
    ready_at = CASE WHEN ready_at = polite_at THEN :now + max(delay_ms, :delay) ELSE ready_at END
WHERE engine_id <= 0 AND failures = 0 AND polite_at > :now + max(delay_ms, :delay)
    AND (delay_ms > 0 OR NOT EXISTS (
        SELECT 1 FROM origins WHERE domain_id = domains.id
            AND (substr(rules, 1, 1) IN (x'43', x'5a') OR instr(rules, x'0a43') > 0)));
