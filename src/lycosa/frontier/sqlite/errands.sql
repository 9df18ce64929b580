-- answers_to: what came of errands, as far as a budget of rules goes: [domain, fp] in pairs
SELECT domain_id, fp, url, fetched_ms, status, location, rules FROM (
    SELECT a.*, sum(length(a.rules)) OVER (ORDER BY a.domain_id, a.fp) AS total
    FROM (SELECT DISTINCT value ->> 0 AS domain_id, value ->> 1 AS fp FROM json_each(:keys)) AS k
    CROSS JOIN answers AS a ON a.domain_id = k.domain_id AND a.fp = k.fp)
WHERE total <= :budget;

-- answered: which errands have a good answer: [domain, fp] in pairs
SELECT value ->> 0, value ->> 1 FROM json_each(:keys)
WHERE EXISTS (SELECT 1 FROM answers WHERE domain_id = value ->> 0 AND fp = value ->> 1
    AND status > 0 AND fetched_ms >= :since);

-- own_delays: the delay that each domain asks for (ids as JSON)
SELECT id, delay_ms FROM domains WHERE id IN (SELECT value FROM json_each(?));

-- answer_upsert: what came of an errand
INSERT INTO answers (domain_id, fp, url, fetched_ms, status, location, rules)
VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (domain_id, fp) DO UPDATE SET url = excluded.url, fetched_ms = excluded.fetched_ms,
    status = excluded.status, location = excluded.location, rules = excluded.rules;

-- answers_forget: old answers are deleted
DELETE FROM answers WHERE fetched_ms < ?;

-- claim: an address for an errand, if nobody has it
INSERT INTO slots (address, engine_id, until_ms) VALUES (:address, :engine_id, :until)
ON CONFLICT (address) DO UPDATE SET engine_id = excluded.engine_id, until_ms = excluded.until_ms
WHERE slots.until_ms <= :now;

-- slot_free: an address is given back, from a moment on
UPDATE slots SET until_ms = ? WHERE address = ? AND engine_id = ?;

-- slots_of_dead: no errand of a dead engine is under way: its addresses wait one delay
UPDATE slots SET until_ms = min(until_ms, :since + :delay) WHERE engine_id = :engine_id;

-- slots_forget: free addresses are deleted
DELETE FROM slots WHERE until_ms <= ?;
