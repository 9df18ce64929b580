-- migration_0004: lines of figures that nodes leave for those who have not their directories.

CREATE TABLE history (
    node text NOT NULL,
    seconds int8 NOT NULL,
    at_ms int8 NOT NULL,
    line text NOT NULL,
    PRIMARY KEY (node, seconds, at_ms)
);
