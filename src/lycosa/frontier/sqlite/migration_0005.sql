-- migration_0005: leases apart: a visit moves a small row and leaves the domain's row alone.

-- Who may be leased, from when on; and how many more pages it has, and queued URLs, than its row says.
CREATE TABLE ready (
    ready_at INTEGER NOT NULL,
    id INTEGER NOT NULL,
    more_pages INTEGER NOT NULL DEFAULT 0,
    more_queued INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (ready_at, id)
) WITHOUT ROWID;
INSERT INTO ready (ready_at, id) SELECT ready_at, id FROM domains
WHERE engine_id = 0 AND engine_id >= 0 ORDER BY ready_at, id;

-- Who is held, and by which engine; and the same two numbers, as of its lease.
CREATE TABLE held (
    id INTEGER PRIMARY KEY,
    engine_id INTEGER NOT NULL,
    more_pages INTEGER NOT NULL DEFAULT 0,
    more_queued INTEGER NOT NULL DEFAULT 0
);
INSERT INTO held (id, engine_id) SELECT id, engine_id FROM domains
WHERE engine_id > 0 AND engine_id >= 0 ORDER BY id;
CREATE INDEX held_by_engine ON held (engine_id);

-- What is left of a domain's row. 2305843009213693952 is where the waiting lane of a queue begins.
CREATE TABLE lean_domains (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    idle INTEGER NOT NULL DEFAULT 0,
    polite_at INTEGER NOT NULL DEFAULT 0,
    wait_at INTEGER NOT NULL DEFAULT 0,
    not_before INTEGER NOT NULL DEFAULT 0,
    delay_ms INTEGER NOT NULL DEFAULT 0,
    failures INTEGER NOT NULL DEFAULT 0,
    pages INTEGER NOT NULL DEFAULT 0,
    queued INTEGER NOT NULL DEFAULT 0,
    seeded INTEGER NOT NULL DEFAULT 0
);
INSERT INTO lean_domains
SELECT id, name, engine_id = -1, polite_at,
    CASE WHEN engine_id = 0 AND ready_at > polite_at AND polite_at > 0 AND NOT EXISTS (
        SELECT 1 FROM queue WHERE domain_id = domains.id AND ord < 2305843009213693952)
    THEN ready_at ELSE 0 END,
    0, delay_ms, failures, pages, queued, seeded
FROM domains ORDER BY id;
DROP TABLE domains;
ALTER TABLE lean_domains RENAME TO domains;
