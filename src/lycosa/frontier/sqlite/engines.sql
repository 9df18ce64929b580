-- register: a new engine
INSERT INTO crawlers (host, pid, started_ms, renewed_ms, lease_until)
VALUES (:host, :pid, :now, :now, :now + :lease);

-- fence: renew the lease, unless this engine was declared dead
UPDATE crawlers SET renewed_ms = :now, lease_until = :now + :lease
WHERE id = :owner AND NOT dead;

-- expired: engines whose lease ended
SELECT id, lease_until FROM crawlers WHERE NOT dead AND lease_until < :now;

-- declare_dead: from now on every write of this engine is refused
UPDATE crawlers SET dead = 1 WHERE id = ? AND NOT dead;

-- living: engines that were not declared dead
SELECT id FROM crawlers WHERE NOT dead;

-- everyone: every engine that ever worked on this crawl
SELECT id FROM crawlers WHERE id > 0;

-- take_over: its domains wait one delay from the last moment it could have fetched
UPDATE domains SET lease_owner = 0,
    ready_at = max(ready_at, polite_at, :since + max(delay_ms, :delay)),
    polite_at = max(polite_at, :since + max(delay_ms, :delay))
WHERE lease_owner = :owner AND lease_owner >= 0;

-- recount_pages: a dead engine did not say how many pages it got of its domains
UPDATE domains SET pages = (
    SELECT count(*) FROM pages WHERE domain_id = domains.id AND status > 0)
WHERE lease_owner = :owner AND lease_owner >= 0;

-- wait_longer: a dead engine had learnt of a longer delay and never committed it
UPDATE domains SET ready_at = max(ready_at, :until), polite_at = max(polite_at, :until)
WHERE id = :id AND lease_owner <= 0;

-- held_by: the domains that an engine holds
SELECT id FROM domains WHERE lease_owner = ? AND lease_owner >= 0;

-- note_crash: an engine died while it parsed this URL
UPDATE queue SET flags = flags + 16
WHERE domain_id = ? AND ord = ? AND fp = ? AND flags < 48;
