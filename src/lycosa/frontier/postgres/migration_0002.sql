-- migration_0002: an engine is called an engine everywhere.

ALTER TABLE crawlers RENAME TO engines;
-- Of the engine that holds a domain, or a state: 0 waits for an engine, -1 has nothing to fetch.
ALTER TABLE domains RENAME COLUMN lease_owner TO engine_id;
ALTER TABLE slots RENAME COLUMN owner TO engine_id;
ALTER TABLE segments RENAME COLUMN owner TO engine_id;
