-- migration_0005: leases apart: a visit moves a small row and leaves the domain's row alone.
-- The reasons for the storage settings are in docs/decisions/0006-postgresql.md.

-- Who may be leased, from when on; and how many more pages it has, and queued URLs, than its row
-- says. A turn leaves one dead row here and one in `held`.
CREATE TABLE ready (
    ready_at int8 NOT NULL,
    id int8 NOT NULL,
    more_pages int4 NOT NULL DEFAULT 0,
    more_queued int4 NOT NULL DEFAULT 0
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_insert_scale_factor = 0.2, autovacuum_vacuum_cost_delay = 0);
INSERT INTO ready (ready_at, id) SELECT ready_at, id FROM domains
WHERE engine_id = 0 ORDER BY ready_at, id;
ALTER TABLE ready ADD PRIMARY KEY (ready_at, id);

-- Who is held, and by which engine; and the same two numbers, as of its lease.
CREATE TABLE held (
    id int8 NOT NULL,
    engine_id int8 NOT NULL,
    more_pages int4 NOT NULL DEFAULT 0,
    more_queued int4 NOT NULL DEFAULT 0
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0);
INSERT INTO held (id, engine_id) SELECT id, engine_id FROM domains
WHERE engine_id > 0 ORDER BY id;
ALTER TABLE held ADD PRIMARY KEY (id);
CREATE INDEX held_by_engine ON held (engine_id);

-- What is left of a domain's row: no column of it that changes is in an index, so that a row that
-- is written stays on its page. 2305843009213693952 is where the waiting lane of a queue begins.
CREATE TABLE lean_domains (
    id int8 NOT NULL,
    polite_at int8 NOT NULL DEFAULT 0,
    wait_at int8 NOT NULL DEFAULT 0,
    not_before int8 NOT NULL DEFAULT 0,
    delay_ms int8 NOT NULL DEFAULT 0,
    queued int8 NOT NULL DEFAULT 0,
    pages int8 NOT NULL DEFAULT 0,
    failures int4 NOT NULL DEFAULT 0,
    idle bool NOT NULL DEFAULT false,
    seeded bool NOT NULL DEFAULT false,
    name text COLLATE "C" NOT NULL
) WITH (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.05,
    autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
INSERT INTO lean_domains (id, polite_at, wait_at, delay_ms, queued, pages, failures, idle, seeded,
    name)
SELECT id, polite_at,
    CASE WHEN engine_id = 0 AND ready_at > polite_at AND polite_at > 0 AND NOT EXISTS (
        SELECT 1 FROM queue WHERE domain_id = domains.id AND ord < 2305843009213693952)
    THEN ready_at ELSE 0 END,
    delay_ms, queued, pages, failures, engine_id = -1, seeded, name
FROM domains;
DROP TABLE domains;
ALTER TABLE lean_domains RENAME TO domains;
ALTER TABLE domains ADD CONSTRAINT domains_pkey PRIMARY KEY (id);
