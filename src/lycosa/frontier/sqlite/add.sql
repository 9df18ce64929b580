-- domain_states: what adding URLs to domains depends on
SELECT json_group_array(json_array(id, {state_columns}))
FROM domains WHERE id IN (SELECT value FROM json_each(?));

-- domain_insert: domains are found (the brackets are repeated for many)
INSERT INTO domains (id, name, queued, seeded) VALUES (?, ?, ?, ?);

-- domain_grew: many URLs came to a domain that has others: a cap hears of them before its next visit
UPDATE domains SET queued = queued + ? WHERE id = ?;

-- domain_seeded: a known domain turns out to be a seed
UPDATE domains SET seeded = 1 WHERE id = ?;

-- account_add: what seeds changed, in row 0, which belongs to nobody
INSERT INTO engines (id, host, pid, started_ms, renewed_ms, lease_until, dead, queued, domains)
VALUES (0, '', 0, :now, :now, 0, 1, :queued, :domains)
ON CONFLICT (id) DO UPDATE SET queued = queued + :queued, domains = domains + :domains;
