-- migration_0008: links to domains that their finder does not hold wait for others to the same part of
-- all domains, and are brought to the logs together (`frontier.inbox`). Rows live for minutes.

CREATE TABLE inbox (
    key int8 PRIMARY KEY,  -- begins with the part of all domains
    links int4 NOT NULL,
    data bytea NOT NULL
) WITH (toast_tuple_target = 4080, autovacuum_vacuum_scale_factor = 0.05,
    autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0,
    toast.autovacuum_vacuum_scale_factor = 0.05, toast.autovacuum_vacuum_threshold = 2000,
    toast.autovacuum_vacuum_cost_delay = 0);
ALTER TABLE inbox ALTER COLUMN data SET STORAGE EXTERNAL;
