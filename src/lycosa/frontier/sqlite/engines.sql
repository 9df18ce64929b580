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

-- take_over: its domains wait one delay from the last moment it could have fetched
UPDATE domains SET engine_id = 0,
    ready_at = max(ready_at, polite_at, :since + max(delay_ms, :delay)),
    polite_at = max(polite_at, :since + max(delay_ms, :delay))
WHERE engine_id = :engine_id AND engine_id >= 0;

-- recount_pages: a dead engine did not say how many pages it got of its domains
UPDATE domains SET pages = (
    SELECT count(*) FROM pages WHERE domain_id = domains.id AND status > 0)
WHERE engine_id = :engine_id AND engine_id >= 0;

-- wait_longer: a dead engine had learnt of a longer delay and never committed it
UPDATE domains SET ready_at = max(ready_at, :until), polite_at = max(polite_at, :until)
WHERE id = :id AND engine_id <= 0;

-- held_by: the domains that an engine holds
SELECT id FROM domains WHERE engine_id = ? AND engine_id >= 0;

-- note_crash: an engine died while it parsed this URL; 16 is Flag.KILL, which counts to three
UPDATE queue SET flags = flags + 16
WHERE domain_id = ? AND ord = ? AND fp = ? AND flags < 48;
