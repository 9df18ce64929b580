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

-- what_is_left: whether a domain is ready (now or later) or held or a node loads seeds and was heard of
-- within one lease time; and whether a URL is queued: one statement, or something might move from what
-- is looked at late to what was looked at early
SELECT EXISTS (SELECT 1 FROM ready) OR EXISTS (SELECT 1 FROM held) OR EXISTS (
        SELECT 1 FROM crawl WHERE key >= 'loading:' AND key < 'loading;'
            AND CAST(value AS INTEGER) + :lease > :now),
    EXISTS (SELECT 1 FROM queue);

-- sweep: a lost wake-up heals: every idle domain with something queued will be ready again
UPDATE domains SET idle = 0 WHERE idle = 1 AND id IN (SELECT DISTINCT domain_id FROM queue)
RETURNING max(polite_at, not_before), id;

-- wait_as_much_longer: the delay grew: who waits since a visit does so for as much longer, and nobody
-- for longer than the whole delay from now on; who only waits for retries goes by its last visit
UPDATE OR REPLACE ready SET ready_at = max(ready_at, min(
    iif(d.wait_at > 0, d.polite_at, ready_at) + :delay - max(d.delay_ms, :before), :now + :delay))
FROM domains AS d
WHERE d.id = ready.id AND ready_at > :now - :delay + :before AND d.polite_at > 0
    AND d.delay_ms < :delay
    AND iif(d.wait_at > 0, d.polite_at, ready_at) > :now - :delay + max(d.delay_ms, :before);

-- wait_as_much_longer_later: the same of those that are idle or only wait for retries
UPDATE domains SET
    polite_at = max(polite_at, min(polite_at + :delay - max(delay_ms, :before), :now + :delay)),
    wait_at = iif(wait_at > 0, max(wait_at,
        min(polite_at + :delay - max(delay_ms, :before), :now + :delay)), 0)
WHERE (idle = 1 OR wait_at > 0) AND delay_ms < :delay
    AND polite_at > :now - :delay + max(delay_ms, :before);

-- wait_no_longer: the delay shrank: nobody waits for longer than it from now on, but those who wait for
-- a retry, those whose sites are busy, and those whose robots.txt may ask for a Crawl-delay that nobody
-- noted (a line with a C, or packed rules: a Z)
UPDATE OR REPLACE ready SET ready_at = :now + max(d.delay_ms, :delay)
FROM domains AS d
WHERE d.id = ready.id AND ready_at > :now + :delay AND ready_at > :now + max(d.delay_ms, :delay)
    AND d.wait_at = 0 AND d.failures = 0 AND (d.delay_ms > 0 OR NOT EXISTS (
        SELECT 1 FROM origins WHERE domain_id = d.id
            AND (substr(rules, 1, 1) IN (x'43', x'5a') OR instr(rules, x'0a43') > 0)));

-- wait_no_longer_later: the same of what the rows of domains say
UPDATE domains SET polite_at = min(polite_at, :now + max(delay_ms, :delay)),
    not_before = min(not_before, :now + max(delay_ms, :delay))
WHERE max(polite_at, not_before) > :now + max(delay_ms, :delay) AND failures = 0
    AND (delay_ms > 0 OR NOT EXISTS (
        SELECT 1 FROM origins WHERE domain_id = domains.id
            AND (substr(rules, 1, 1) IN (x'43', x'5a') OR instr(rules, x'0a43') > 0)));
