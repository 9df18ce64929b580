-- domain_states: what adding URLs to these domains depends on; who holds them does not: of domains that
-- the caller holds it does not ask
SELECT id, 0, idle, wait_at, queued, pages, seeded FROM domains
WHERE id = ANY (%(ids)s);

-- known: which URLs were seen; those of domain n are fps[starts[n]:ends[n]]
SELECT u.domain_id, (
    SELECT array_agg(s.fp) FROM seen AS s
    WHERE s.domain_id = u.domain_id AND s.fp = ANY ((%(fps)s)[u.first:u.last]))
FROM (
    SELECT unnest(%(domains)s) AS domain_id, unnest(%(starts)s)::int4 AS first,
        unnest(%(ends)s)::int4 AS last) AS u;

-- seen_insert: URLs are seen for the first time; tells which were, for they enter the queue
INSERT INTO seen (domain_id, fp, ord) SELECT * FROM unnest(%(domains)s, %(fps)s, %(orders)s)
ON CONFLICT DO NOTHING RETURNING domain_id, fp;

-- queue_insert: URLs enter the queue
INSERT INTO queue (domain_id, fp, ord, depth, flags, url, attempts)
SELECT *, 0 FROM unnest(%(domains)s, %(fps)s, %(orders)s, %(depths)s, %(flags)s, %(urls)s);

-- domain_insert: domains are found; tells those that nobody else has found meanwhile, for they stand in
-- line from now on
INSERT INTO domains (id, name, queued, seeded)
SELECT id, name, queued, %(seeded)s
FROM unnest(%(ids)s, %(names)s, %(queued)s) AS u (id, name, queued)
ON CONFLICT (id) DO NOTHING RETURNING id;

-- domain_seeded: known domains turn out to be seeds
UPDATE domains SET seeded = true WHERE id = ANY (%(ids)s) AND NOT seeded;

-- account_add: what seeds changed, in row 0, which belongs to nobody
INSERT INTO engines (id, host, pid, node, directory, started_ms, renewed_ms, lease_until, dead,
    queued, domains)
VALUES (0, '', 0, '', '', %(now)s, %(now)s, 0, true, %(queued)s, %(domains)s)
ON CONFLICT (id) DO UPDATE SET queued = engines.queued + excluded.queued,
    domains = engines.domains + excluded.domains;
