-- migration_0006: one log for each domain. `queue` and `seen` are read into it next, some domains at a
-- time (`rows_to_log`); what another lycosa knows of them would be old, so the format changes first.

-- The chunks of a domain. The key is 32 bits of the domain's id, and behind them 31 bits that count its
-- chunks: those of one domain lie together, and a row of SQLite's is found by a number in one place.
CREATE TABLE log (
    key INTEGER PRIMARY KEY,
    data BLOB NOT NULL
);

-- The dictionaries with which the texts in chunks are packed: another version may lack one.
CREATE TABLE dictionaries (
    number INTEGER PRIMARY KEY,
    data BLOB NOT NULL
);

-- Chunks that can't be read, as they were found.
CREATE TABLE damaged (
    domain_id INTEGER NOT NULL,
    key INTEGER NOT NULL,
    found_ms INTEGER NOT NULL,
    why TEXT NOT NULL,
    data BLOB NOT NULL
);

-- Domains that sleep though something is queued: there should be none.
CREATE INDEX sleepers ON domains (id) WHERE idle = 1 AND queued > 0;
