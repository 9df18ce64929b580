-- any_ready: whether a domain is ready: looking costs no write
SELECT 1 FROM ready
WHERE ready_at >= %(front)s AND ready_at <= (
    SELECT coalesce(%(now)s::int8, (extract(epoch FROM clock_timestamp()) * 1000)::int8))
LIMIT 1;

-- lease: the longest waiting domains leave the line, within a budget of robots rules, each with what
-- its row says (nothing, if there is none); from `front` on, where the last look ended
WITH head AS MATERIALIZED (
    SELECT ctid AS place, ready_at, id FROM ready
    WHERE ready_at >= %(front)s AND ready_at <= %(now)s
    ORDER BY ready_at, id LIMIT %(limit)s FOR UPDATE SKIP LOCKED
), sized AS MATERIALIZED (
    SELECT head.place, row_number() OVER w AS rank, sum(robots.size) OVER w AS total
    FROM head CROSS JOIN LATERAL (
        SELECT coalesce(sum(octet_length(rules)), 0)::int4 AS size FROM origins
        WHERE domain_id = head.id) AS robots
    WINDOW w AS (ORDER BY head.ready_at, head.id)
), gone AS (
    DELETE FROM ready AS r USING sized
    WHERE r.ctid = sized.place AND (sized.rank = 1 OR sized.total <= %(budget)s)
    RETURNING r.id, r.ready_at, r.more_pages, r.more_queued, sized.total
)
SELECT gone.*, d.name, d.idle, d.wait_at, d.polite_at, d.not_before, d.delay_ms, d.failures,
    d.pages, d.queued, d.seeded
FROM gone LEFT JOIN domains AS d ON d.id = gone.id;

-- hold: domains that left the line go to their engine; tells which, and not those that were held
INSERT INTO held (id, engine_id, more_pages, more_queued)
SELECT u.id, %(engine_id)s, u.more_pages, u.more_queued
FROM unnest(%(ids)s, %(more_pages)s, %(more_queued)s) AS u (id, more_pages, more_queued)
ON CONFLICT (id) DO NOTHING RETURNING id;

-- stand_in_line: domains whose other token was taken in this transaction are ready from a moment on
INSERT INTO ready (ready_at, id, more_pages, more_queued)
SELECT * FROM unnest(%(moments)s, %(ids)s, %(more_pages)s, %(more_queued)s)
ON CONFLICT DO NOTHING;

-- wait_over: domains that only waited for retries have left their place in line
UPDATE domains SET wait_at = 0 WHERE id = ANY (%(ids)s) AND wait_at > 0;

-- held_unknown: domains that this engine holds without having heard of it (a commit was cut off)
SELECT d.id, d.name, d.delay_ms, d.failures, d.pages + h.more_pages,
    greatest(0, d.queued + h.more_queued), d.seeded
FROM held AS h JOIN domains AS d ON d.id = h.id
WHERE h.engine_id = %(engine_id)s AND h.id <> ALL (%(known)s);

-- any_not_held: a domain of these that this engine does not hold ("+ 0" keeps the planner off the index
-- of all that it holds)
SELECT u.id FROM unnest(%(ids)s) AS u (id)
LEFT JOIN held AS h ON h.id = u.id AND h.engine_id + 0 = %(engine_id)s
WHERE h.id IS NULL LIMIT 1;

-- held_by: a domain that an engine holds
SELECT id FROM held WHERE engine_id = %(engine_id)s LIMIT 1;

-- release: domains are given back: ready when their first URL is due, idle without one; tells which were
-- held, and whether each sleeps: it is idle, or only waits for retries. The row of a domain is written
-- only if it must follow, on the conditions of `released.must_follow`
WITH gone AS MATERIALIZED (
    DELETE FROM held AS h
    USING unnest(%(ids)s, %(polite)s, %(failures)s, %(pages)s, %(queued)s, %(recount)s)
        AS u (id, polite, failures, pages, queued, recount)
    WHERE h.id = u.id AND h.engine_id + 0 = %(engine_id)s  -- "+ 0" as in any_not_held
    RETURNING u.id, u.polite, u.failures, u.pages, u.queued, u.recount
), counted AS MATERIALIZED (
    SELECT gone.id, gone.polite, gone.failures, gone.pages, gone.recount, head.ord,
        CASE WHEN head.ord IS NULL THEN 0
            WHEN gone.recount > 0 THEN (SELECT count(*) FROM (
                SELECT 1 FROM queue WHERE domain_id = gone.id LIMIT %(cap)s + 1) AS found)
            ELSE greatest(1, gone.queued) END AS queued,
        head.ord IS NULL OR head.ord > %(waiting)s + gone.polite AS sleeps
    FROM gone LEFT JOIN LATERAL (
        SELECT ord FROM queue WHERE domain_id = gone.id ORDER BY ord LIMIT 1) AS head ON true
), back AS MATERIALIZED (
    SELECT c.*, d.pages AS pages_before, d.queued AS queued_before,
        greatest(c.polite, d.not_before, c.ord - %(waiting)s) AS ready_at,
        c.sleeps OR c.recount > 0 OR d.polite_at = 0 AND c.pages <= d.pages OR d.wait_at > 0
            OR d.failures <> c.failures OR d.pages <> c.pages AND %(page_cap)s > 0
            OR c.pages > 2 * d.pages + %(few)s OR d.pages > 2 * c.pages + %(few)s
            OR abs(c.queued - d.queued) > %(cap)s / 16
            OR (d.queued < %(cap)s) <> (c.queued < %(cap)s)
            OR c.queued > 2 * d.queued + %(few)s OR d.queued > 2 * c.queued + %(few)s AS follows
    FROM counted AS c JOIN domains AS d ON d.id = c.id
), followed AS (
    UPDATE domains AS d SET idle = back.ord IS NULL, polite_at = back.polite,
        wait_at = CASE WHEN back.sleeps AND back.ord IS NOT NULL THEN back.ready_at ELSE 0 END,
        failures = back.failures, pages = back.pages, queued = back.queued
    FROM back WHERE d.id = back.id AND back.follows
), stands AS (
    INSERT INTO ready (ready_at, id, more_pages, more_queued)
    SELECT ready_at, id, CASE WHEN follows THEN 0 ELSE pages - pages_before END,
        CASE WHEN follows THEN 0 ELSE queued - queued_before END
    FROM back WHERE ord IS NOT NULL
)
SELECT id, sleeps FROM back;

-- wake_idle: idle domains got URLs
WITH woken AS (
    UPDATE domains AS d SET idle = false, queued = d.queued + u.queued
    FROM unnest(%(ids)s, %(queued)s) AS u (id, queued)
    WHERE d.id = u.id AND d.idle AND EXISTS (SELECT 1 FROM queue AS q WHERE q.domain_id = d.id)
    RETURNING greatest(d.polite_at, d.not_before, %(now)s) AS ready_at, d.id
)
INSERT INTO ready (ready_at, id) SELECT * FROM woken
ON CONFLICT DO NOTHING;

-- wake_waiting: domains that only wait for retries got URLs: they move forward in line, unless somebody
-- takes them from their place at this moment
WITH gone AS (
    DELETE FROM ready AS r
    USING unnest(%(ids)s, %(queued)s) AS u (id, queued) JOIN domains AS d ON d.id = u.id
    WHERE r.ready_at = d.wait_at AND r.id = d.id
        AND d.wait_at > greatest(d.polite_at, d.not_before, %(now)s)
        AND EXISTS (SELECT 1 FROM queue AS q WHERE q.domain_id = d.id AND q.ord < %(waiting)s)
    RETURNING r.id, r.more_pages, r.more_queued, u.queued
), moved AS (
    UPDATE domains AS d SET wait_at = 0, queued = d.queued + gone.queued
    FROM gone WHERE d.id = gone.id
    RETURNING greatest(d.polite_at, d.not_before, %(now)s) AS ready_at, d.id, gone.more_pages,
        gone.more_queued
)
INSERT INTO ready (ready_at, id, more_pages, more_queued) SELECT * FROM moved
ON CONFLICT DO NOTHING;

-- sweep: a lost wake-up heals: every idle domain with something queued is ready again
WITH woken AS (
    UPDATE domains SET idle = false WHERE idle AND id IN (SELECT domain_id FROM queue)
    RETURNING greatest(polite_at, not_before) AS ready_at, id
)
INSERT INTO ready (ready_at, id) SELECT * FROM woken
ON CONFLICT DO NOTHING;

-- take_over: its domains wait one delay from the last moment it could have fetched; who comes late finds
-- none of them
WITH gone AS (
    DELETE FROM held WHERE engine_id = %(engine_id)s RETURNING id, more_pages, more_queued
)
INSERT INTO ready (ready_at, id, more_pages, more_queued)
SELECT greatest(%(since)s + greatest(d.delay_ms, %(delay)s), d.polite_at, d.not_before), d.id,
    CASE WHEN %(recounted)s THEN 0 ELSE gone.more_pages END, gone.more_queued
FROM gone JOIN domains AS d ON d.id = gone.id
ON CONFLICT DO NOTHING;

-- take_over_all: the same of all engines: the server was replaced by another
WITH gone AS (DELETE FROM held RETURNING id, more_pages, more_queued)
INSERT INTO ready (ready_at, id, more_pages, more_queued)
SELECT greatest(%(since)s + greatest(d.delay_ms, %(delay)s), d.polite_at, d.not_before), d.id,
    gone.more_pages, gone.more_queued
FROM gone JOIN domains AS d ON d.id = gone.id
ON CONFLICT DO NOTHING;

-- recount_pages: a dead engine did not say how many pages it got of its domains
UPDATE domains AS d SET pages = (
    SELECT count(*) FROM pages AS p WHERE p.domain_id = d.id AND p.status > 0)
FROM held AS h WHERE h.engine_id = %(engine_id)s AND d.id = h.id;

-- wait_longer: domains wait for longer, wherever they stand: somebody learnt of it too late
UPDATE domains AS d SET not_before = greatest(d.not_before, u.until)
FROM unnest(%(ids)s, %(until)s) AS u (id, until) WHERE d.id = u.id;

-- wait_as_much_longer: the delay grew: who waits since a visit does so for as much longer, and nobody
-- for longer than the whole delay from now on; who only waits for retries goes by its last visit
WITH waiting AS MATERIALIZED (
    SELECT r.ready_at, r.id, d.wait_at > 0 AS waits, d.polite_at,
        least(CASE WHEN d.wait_at > 0 THEN d.polite_at ELSE r.ready_at END
            + %(delay)s - greatest(d.delay_ms, %(before)s), %(now)s + %(delay)s) AS later
    FROM ready AS r JOIN domains AS d ON d.id = r.id
    WHERE r.ready_at > %(now)s - %(delay)s + %(before)s
        AND (d.polite_at > 0 OR r.more_pages <> 0) AND d.delay_ms < %(delay)s
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
