-- migration_0004: lines of figures that nodes leave for those who have not their directories.

CREATE TABLE history (
    node TEXT NOT NULL,
    seconds INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    line TEXT NOT NULL,
    PRIMARY KEY (node, seconds, at_ms)
) WITHOUT ROWID;
