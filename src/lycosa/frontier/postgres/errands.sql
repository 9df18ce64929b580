-- answers_to: what came of errands, as far as a budget of rules goes
SELECT domain_id, fp, url, fetched_ms, status, location, rules FROM (
    SELECT a.*, sum(octet_length(a.rules)) OVER (ORDER BY a.domain_id, a.fp) AS total
    FROM unnest(%(domains)s, %(fps)s) AS k (domain_id, fp)
    JOIN answers AS a ON a.domain_id = k.domain_id AND a.fp = k.fp) AS found
WHERE total <= %(budget)s;

-- answered: which errands have a good answer
SELECT k.domain_id, k.fp FROM unnest(%(domains)s, %(fps)s) AS k (domain_id, fp)
WHERE (SELECT a.status > 0 AND a.fetched_ms >= %(since)s FROM answers AS a
    WHERE a.domain_id = k.domain_id AND a.fp = k.fp);

-- own_delays: the delay that each domain asks for
SELECT id, delay_ms FROM domains WHERE id = ANY (%(ids)s);

-- answer_upsert: what came of errands
INSERT INTO answers (domain_id, fp, url, fetched_ms, status, location, rules)
SELECT * FROM unnest(%(domains)s, %(fps)s, %(urls)s, %(fetched)s, %(statuses)s, %(locations)s,
    %(rules)s)
ON CONFLICT (domain_id, fp) DO UPDATE SET url = excluded.url, fetched_ms = excluded.fetched_ms,
    status = excluded.status, location = excluded.location, rules = excluded.rules;

-- answers_forget: old answers are deleted; skips those that another engine deletes at the same time
DELETE FROM answers WHERE (domain_id, fp) IN (
    SELECT domain_id, fp FROM answers WHERE fetched_ms < %(before)s FOR UPDATE SKIP LOCKED);

-- claim: addresses for errands, as far as nobody has them
INSERT INTO slots (address, engine_id, until_ms)
SELECT address, %(engine_id)s, %(until)s FROM unnest(%(addresses)s) AS u (address)
ON CONFLICT (address) DO UPDATE SET engine_id = excluded.engine_id, until_ms = excluded.until_ms
WHERE slots.until_ms <= %(now)s
RETURNING address;

-- slot_free: addresses are given back, from a moment on
UPDATE slots AS s SET until_ms = u.until FROM unnest(%(addresses)s, %(until)s) AS u (address, until)
WHERE s.address = u.address AND s.engine_id = %(engine_id)s;

-- slots_of_dead: no errand of a dead engine is under way: its addresses wait one delay
UPDATE slots SET until_ms = least(until_ms, %(since)s + %(delay)s::int8) WHERE engine_id = %(engine_id)s;

-- slots_forget: free addresses are deleted; skips those that another engine claims at the same time
DELETE FROM slots WHERE address IN (
    SELECT address FROM slots WHERE until_ms <= %(now)s FOR UPDATE SKIP LOCKED);
