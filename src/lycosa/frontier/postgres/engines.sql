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
