-- register: a new engine
INSERT INTO engines (host, pid, started_ms, renewed_ms, lease_until)
VALUES (:host, :pid, :now, :now, :now + :lease);

-- fence: renew the lease, unless this engine was declared dead
UPDATE engines SET renewed_ms = :now, lease_until = :now + :lease
WHERE id = :engine_id AND NOT dead;

-- expired: engines whose lease ended
SELECT id, lease_until FROM engines WHERE NOT dead AND lease_until < :now;

-- declare_dead: from now on every write of this engine is refused
UPDATE engines SET dead = 1 WHERE id = ? AND NOT dead;

-- living: engines that were not declared dead
SELECT id FROM engines WHERE NOT dead;

-- everyone: every engine that ever worked on this crawl
SELECT id FROM engines WHERE id > 0;
