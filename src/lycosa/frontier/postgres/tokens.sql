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
SELECT d.id, d.name, d.delay_ms, d.failures, d.pages, d.queued, d.seeded
FROM held AS h JOIN domains AS d ON d.id = h.id
WHERE h.engine_id = %(engine_id)s AND h.id <> ALL (%(known)s);

-- any_not_held: a domain of these that this engine does not hold ("+ 0" keeps the planner off the index
-- of all that it holds)
SELECT u.id FROM unnest(%(ids)s) AS u (id)
LEFT JOIN held AS h ON h.id = u.id AND h.engine_id + 0 = %(engine_id)s
WHERE h.id IS NULL LIMIT 1;

-- held_by: a domain that an engine holds
SELECT id FROM held WHERE engine_id = %(engine_id)s LIMIT 1;

-- release: domains are given back: ready from a moment on, or idle (a moment below 0); tells which were
-- held, and whether each sleeps: it is idle, or only waits for retries. Who would sleep and has more
-- chunks than its engine knows of is ready instead; who sleeps is noted, for one may be on its way. The
-- row of a domain is written only if it must follow, on the conditions of `released.must_follow`
WITH gone AS MATERIALIZED (
    DELETE FROM held AS h
    USING unnest(%(ids)s, %(moments)s, %(polite)s, %(failures)s, %(pages)s, %(queued)s, %(chunks)s)
        AS u (id, moment, polite, failures, pages, queued, chunks)
    WHERE h.id = u.id AND h.engine_id + 0 = %(engine_id)s  -- "+ 0" as in any_not_held
    RETURNING u.id, u.moment, u.polite, u.failures, u.pages, u.queued, u.chunks
), counted AS MATERIALIZED (
    SELECT gone.*, CASE WHEN moment < 0 OR moment > polite
        THEN (SELECT count(*) FROM log WHERE domain_id = gone.id) > gone.chunks
        ELSE false END AS grown
    FROM gone
), looked AS MATERIALIZED (
    SELECT id, polite, failures, pages, chunks, greatest(queued, grown::int4) AS queued,
        CASE WHEN grown THEN polite ELSE moment END AS moment,
        NOT grown AND moment < 0 AS idle,
        NOT grown AND (moment < 0 OR moment > polite) AS sleeps
    FROM counted
), timed AS MATERIALIZED (
    SELECT l.*, greatest(l.moment, d.not_before) AS ready_at,
        CASE WHEN l.sleeps AND NOT l.idle THEN greatest(l.moment, d.not_before) ELSE 0 END AS wait_at,
        d.polite_at AS polite_before, d.wait_at AS wait_before, d.failures AS failures_before,
        d.pages AS pages_before, d.queued AS queued_before
    FROM looked AS l JOIN domains AS d ON d.id = l.id
), back AS MATERIALIZED (
    SELECT t.*, t.idle OR t.wait_at <> t.wait_before
        OR t.polite_before = 0 AND t.pages <= t.pages_before OR t.failures <> t.failures_before
        OR t.pages <> t.pages_before AND CASE WHEN %(page_cap)s > 0 THEN true
            ELSE t.pages > 2 * t.pages_before + %(few)s OR t.pages_before > 2 * t.pages + %(few)s END
        OR t.queued <> t.queued_before AND CASE WHEN %(cap)s > 0
            THEN abs(t.queued - t.queued_before) > %(cap)s / 16
                OR (t.queued_before < %(cap)s) <> (t.queued < %(cap)s)
            ELSE t.queued > 2 * t.queued_before + %(few)s
                OR t.queued_before > 2 * t.queued + %(few)s END AS follows
    FROM timed AS t
), followed AS (
    UPDATE domains AS d SET idle = back.idle, polite_at = back.polite, wait_at = back.wait_at,
        failures = back.failures, pages = back.pages, queued = back.queued
    FROM back WHERE d.id = back.id AND back.follows
), stands AS (
    INSERT INTO ready (ready_at, id, more_pages, more_queued)
    SELECT ready_at, id, CASE WHEN follows THEN 0 ELSE pages - pages_before END,
        CASE WHEN follows THEN 0 ELSE queued - queued_before END
    FROM back WHERE NOT idle
    ON CONFLICT DO NOTHING
), rests AS (
    INSERT INTO asleep (id, chunks, since_ms, slept)
    SELECT id, chunks, %(now)s, pg_current_xact_id() FROM back WHERE sleeps
    ON CONFLICT (id) DO UPDATE
    SET chunks = excluded.chunks, since_ms = excluded.since_ms, slept = excluded.slept, below = NULL
)
SELECT id, sleeps FROM back;

-- wake_idle: idle domains got URLs
WITH woken AS (
    UPDATE domains AS d SET idle = false, queued = d.queued + u.queued
    FROM unnest(%(ids)s, %(queued)s) AS u (id, queued) WHERE d.id = u.id AND d.idle
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
    UPDATE domains SET idle = false WHERE idle AND queued > 0
    RETURNING greatest(polite_at, not_before) AS ready_at, id
)
INSERT INTO ready (ready_at, id) SELECT * FROM woken
ON CONFLICT DO NOTHING;

-- asleep_seen: of those who fell asleep before this statement began: whoever found one of them awake has
-- a lower number than the transaction of this statement, which gets its number now. So it has to be the
-- only statement of its transaction
WITH found AS MATERIALIZED (
    SELECT id FROM asleep
    WHERE below IS NULL AND pg_visible_in_snapshot(slept, pg_current_snapshot())
    LIMIT %(limit)s FOR UPDATE SKIP LOCKED
)
UPDATE asleep AS a SET below = pg_current_xact_id() FROM found WHERE a.id = found.id;

-- asleep_over: they need not be looked at any more; tells those that got a chunk nobody has read. A
-- transaction that is older than `before` is none of ours, on whatever database of the server it is
WITH first AS MATERIALIZED (
    SELECT id FROM asleep WHERE below IS NOT NULL ORDER BY below LIMIT %(limit)s
), over AS MATERIALIZED (
    SELECT a.id FROM first JOIN asleep AS a ON a.id = first.id
    WHERE a.below <= pg_snapshot_xmin(pg_current_snapshot()) OR a.since_ms < %(before)s
    FOR UPDATE OF a SKIP LOCKED
), gone AS MATERIALIZED (
    DELETE FROM asleep AS a USING over WHERE a.id = over.id RETURNING a.id, a.chunks
)
SELECT id FROM gone WHERE (SELECT count(*) FROM log WHERE domain_id = gone.id) > chunks;

-- take_over: its domains wait one delay from the last moment it could have fetched; who comes late finds
-- none of them
WITH gone AS (
    DELETE FROM held WHERE engine_id = %(engine_id)s RETURNING id, more_pages, more_queued
)
INSERT INTO ready (ready_at, id, more_pages, more_queued)
SELECT greatest(%(since)s + greatest(d.delay_ms, %(delay)s), d.polite_at, d.not_before), d.id,
    gone.more_pages, gone.more_queued
FROM gone JOIN domains AS d ON d.id = gone.id
ON CONFLICT DO NOTHING;

-- take_over_all: the same of all engines: the server was replaced by another
WITH gone AS (DELETE FROM held RETURNING id, more_pages, more_queued)
INSERT INTO ready (ready_at, id, more_pages, more_queued)
SELECT greatest(%(since)s + greatest(d.delay_ms, %(delay)s), d.polite_at, d.not_before), d.id,
    gone.more_pages, gone.more_queued
FROM gone JOIN domains AS d ON d.id = gone.id
ON CONFLICT DO NOTHING;

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
