-- any_ready: whether a domain is due
SELECT 1 FROM ready WHERE ready_at <= :now LIMIT 1;

-- ready_head: the first in line that are due, what decides whether each may go, and the bytes of robots
-- rules that would come with it
SELECT json_group_array(json_array(r.ready_at, r.id, r.more_pages, r.more_queued, d.name, d.idle,
    h.engine_id, d.wait_at, d.polite_at, d.not_before, d.delay_ms, d.failures, d.pages, d.queued,
    d.seeded, (SELECT coalesce(sum(length(rules)), 0) FROM origins WHERE domain_id = r.id)))
FROM (SELECT * FROM ready WHERE ready_at <= :now ORDER BY ready_at, id LIMIT :limit) AS r
LEFT JOIN domains AS d ON d.id = r.id LEFT JOIN held AS h ON h.id = r.id;

-- ready_take: the first in line, up to one of them, leave it
DELETE FROM ready WHERE (ready_at, id) <= (:ready_at, :id);

-- ready_insert: domains get in line (the brackets are repeated for many)
INSERT INTO ready (ready_at, id, more_pages, more_queued) VALUES (?, ?, ?, ?)
ON CONFLICT DO NOTHING;

-- held_insert: an engine holds domains (the brackets are repeated for many)
INSERT INTO held (id, engine_id, more_pages, more_queued) VALUES (?, ?, ?, ?)
ON CONFLICT DO NOTHING;

-- wait_over: domains that only waited for retries do so no longer
UPDATE domains SET wait_at = 0 WHERE id IN (SELECT value FROM json_each(?));

-- held_known: what an engine holds and was handed out or not
SELECT json_group_array(json_array(h.id, d.name, d.polite_at, d.not_before, d.delay_ms, d.failures,
    d.seeded))
FROM held AS h JOIN domains AS d ON d.id = h.id WHERE h.engine_id = :engine_id;

-- any_not_held: a domain of a list that an engine does not hold
SELECT value FROM json_each(:ids)
WHERE NOT EXISTS (SELECT 1 FROM held WHERE id = value AND +engine_id = :engine_id) LIMIT 1;

-- held_states: of those domains of a list that an engine holds, what the domain's row says (`+`: by id,
-- not by a walk over all that the engine holds)
SELECT json_group_array(json_array(h.id, d.polite_at, d.wait_at, d.failures, d.pages, d.queued))
FROM held AS h JOIN domains AS d ON d.id = h.id
WHERE h.id IN (SELECT value FROM json_each(:ids)) AND +h.engine_id = :engine_id;

-- held_among: those domains of a list that an engine holds
SELECT json_group_array(id) FROM held
WHERE id IN (SELECT value FROM json_each(:ids)) AND +engine_id = :engine_id;

-- held_delete: an engine gives domains back
DELETE FROM held WHERE id IN (SELECT value FROM json_each(:ids)) AND +engine_id = :engine_id;

-- released: the row of a domain that is given back follows (the brackets are repeated for many): its
-- id, and what is written, in order
UPDATE domains SET idle = column2, polite_at = column3, wait_at = column4, failures = column5,
    pages = column6, queued = column7
FROM (VALUES (?, ?, ?, ?, ?, ?, ?)) WHERE id = column1;

-- wake_idle: an idle domain got URLs and will be ready
UPDATE domains SET idle = 0, queued = queued + :queued WHERE id = :id AND idle = 1
RETURNING max(polite_at, not_before);

-- ready_leave: a domain that only waits for retries leaves its place in line, unless it is due
DELETE FROM ready WHERE ready_at = :wait_at AND id = :id AND :wait_at > :now
RETURNING more_pages, more_queued;

-- wake_waiting: it got URLs
UPDATE domains SET wait_at = 0, queued = queued + :queued WHERE id = :id
RETURNING max(polite_at, not_before);

-- take_over: the domains of a dead engine wait one delay from the last moment it could have fetched
INSERT INTO ready (ready_at, id, more_pages, more_queued)
SELECT max(:since + max(d.delay_ms, :delay), d.polite_at, d.not_before), h.id, h.more_pages,
    h.more_queued
FROM held AS h JOIN domains AS d ON d.id = h.id WHERE h.engine_id = :engine_id
ON CONFLICT DO NOTHING;

-- held_forget: a dead engine holds nothing
DELETE FROM held WHERE engine_id = :engine_id;

-- wait_longer: somebody learnt that a domain must wait for longer
UPDATE domains SET not_before = max(not_before, :until) WHERE id = :id;

-- held_by: a domain that an engine holds
SELECT id FROM held WHERE engine_id = ? LIMIT 1;

-- sweep: a lost wake-up heals: every idle domain with something queued will be ready again
UPDATE domains SET idle = 0 WHERE idle = 1 AND queued > 0
RETURNING max(polite_at, not_before), id;

-- wait_as_much_longer: the delay grew: who waits since a visit does so for as much longer, and nobody
-- for longer than the whole delay from now on; who only waits for retries goes by its last visit
UPDATE OR REPLACE ready SET ready_at = max(ready_at, min(
    iif(d.wait_at > 0, d.polite_at, ready_at) + :delay - max(d.delay_ms, :before), :now + :delay))
FROM domains AS d
WHERE d.id = ready.id AND ready_at > :now - :delay + :before
    AND (d.polite_at > 0 OR more_pages <> 0) AND d.delay_ms < :delay
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
