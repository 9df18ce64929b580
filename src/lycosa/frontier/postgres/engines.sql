-- clock: the store's time: the server's, unless a test brings its own
SELECT coalesce(%(now)s::int8, (extract(epoch FROM clock_timestamp()) * 1000)::int8);

-- register: a new engine
INSERT INTO engines (host, pid, node, directory, started_ms, renewed_ms, lease_until)
VALUES (%(host)s, %(pid)s, %(node)s, %(directory)s, %(now)s, %(now)s, %(now)s::int8 + %(lease)s)
RETURNING id;

-- fence: renew the lease, unless this engine was declared dead
UPDATE engines SET renewed_ms = clock.now, lease_until = clock.now + %(lease)s
FROM (SELECT coalesce(%(now)s::int8, (extract(epoch FROM clock_timestamp()) * 1000)::int8) AS now
    ) AS clock
WHERE id = %(engine_id)s AND NOT dead
RETURNING renewed_ms;

-- expired: engines whose lease ended
SELECT id FROM engines WHERE NOT dead AND lease_until < %(now)s ORDER BY id;

-- declare_expired: engines whose lease ended: from now on all their writes are refused
UPDATE engines SET dead = true
WHERE NOT dead AND lease_until < %(now)s AND id <> ALL (%(known)s)
RETURNING id, lease_until;

-- declare_dead: from now on every write of this engine is refused
UPDATE engines SET dead = true WHERE id = %(engine_id)s AND NOT dead;

-- living: engines that were not declared dead, of one node or (by '') of all
SELECT id FROM engines WHERE NOT dead AND %(node)s IN ('', node) ORDER BY id;

-- everyone: every engine that ever worked on this crawl, of one node or (by '') of all
SELECT id FROM engines WHERE id > 0 AND %(node)s IN ('', node) ORDER BY id;

-- take_over: its domains wait one delay from the last moment it could have fetched
UPDATE domains SET engine_id = 0,
    ready_at = greatest(ready_at, polite_at, %(since)s + greatest(delay_ms, %(delay)s)),
    polite_at = greatest(polite_at, %(since)s + greatest(delay_ms, %(delay)s))
WHERE engine_id = %(engine_id)s;

-- recount_pages: a dead engine did not say how many pages it got of its domains
UPDATE domains AS d SET pages = (
    SELECT count(*) FROM pages AS p WHERE p.domain_id = d.id AND p.status > 0)
WHERE d.engine_id = %(engine_id)s;

-- wait_longer: a dead engine had learnt of longer delays and never committed them
UPDATE domains AS d SET ready_at = greatest(d.ready_at, u.until),
    polite_at = greatest(d.polite_at, u.until)
FROM unnest(%(ids)s, %(until)s) AS u (id, until)
WHERE d.id = u.id AND d.engine_id + 0 <= 0;

-- held_by: a domain that an engine holds
SELECT id FROM domains WHERE engine_id = %(engine_id)s LIMIT 1;

-- note_crash: an engine died while it parsed this URL; 16 is Flag.KILL, which counts to three
UPDATE queue SET flags = flags + 16
WHERE domain_id = %(id)s AND ord = %(ord)s AND fp = %(fp)s AND flags < 48;
