-- domain_states: what adding URLs to these domains depends on; who holds them does not: to domains that
-- the caller holds it adds nothing
SELECT id, 0, idle, wait_at, queued, pages, seeded FROM domains
WHERE id = ANY (%(ids)s);

-- domain_insert: domains are found; tells those that nobody else has found meanwhile, for they stand in
-- line from now on
INSERT INTO domains (id, name, queued, seeded)
SELECT id, name, queued, %(seeded)s
FROM unnest(%(ids)s, %(names)s, %(queued)s) AS u (id, name, queued)
ON CONFLICT (id) DO NOTHING RETURNING id;

-- domain_grew: many URLs came to domains that have others
WITH free AS (
    SELECT id FROM domains WHERE id = ANY (%(ids)s) ORDER BY id FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE domains SET queued = queued + u.count
FROM unnest(%(ids)s, %(counts)s) AS u (id, count) JOIN free USING (id)
WHERE domains.id = u.id;

-- domain_seeded: known domains turn out to be seeds
UPDATE domains SET seeded = true WHERE id = ANY (%(ids)s) AND NOT seeded;

-- account_add: what seeds changed, in row 0, which belongs to nobody
INSERT INTO engines (id, host, pid, node, directory, started_ms, renewed_ms, lease_until, dead,
    queued, domains)
VALUES (0, '', 0, '', '', %(now)s, %(now)s, 0, true, %(queued)s, %(domains)s)
ON CONFLICT (id) DO UPDATE SET queued = engines.queued + excluded.queued,
    domains = engines.domains + excluded.domains;

-- begins: whoever reads the states of domains has a number before: see `asleep_over`
SELECT pg_current_xact_id()::text;
