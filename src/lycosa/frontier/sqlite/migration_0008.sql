-- migration_0008: links to domains that their finder does not hold wait for others to the same part of
-- all domains, and are brought to the logs together (`frontier.inbox`).

CREATE TABLE inbox (
    key INTEGER PRIMARY KEY,  -- begins with the part of all domains
    links INTEGER NOT NULL,
    data BLOB NOT NULL
);
