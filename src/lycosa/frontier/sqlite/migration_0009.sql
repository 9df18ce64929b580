-- migration_0009: where in `pages` the page of a URL is. An index is touched at a random place by every
-- page; sorted rolls of keys are only ever written in their order (`frontier.sqlite.pages`).

CREATE TABLE page_rolls (
    roll INTEGER PRIMARY KEY,
    level INTEGER NOT NULL,  -- how often its keys were merged with those of other rolls
    last INTEGER NOT NULL,  -- pages up to this id are in rolls
    goes_to INTEGER  -- the roll that it is being merged into
);

CREATE TABLE page_keys (
    roll INTEGER NOT NULL,
    domain_id INTEGER NOT NULL,
    fp INTEGER NOT NULL,
    id INTEGER NOT NULL,
    PRIMARY KEY (roll, domain_id, fp, id)
) WITHOUT ROWID;

-- What the index knew is one large roll.
INSERT INTO page_rolls (level, last) SELECT 2, id FROM pages ORDER BY id DESC LIMIT 1;
INSERT INTO page_keys (roll, domain_id, fp, id)
SELECT 1, domain_id, fp, id FROM pages INDEXED BY pages_by_url ORDER BY domain_id, fp, id;
DROP INDEX pages_by_url;
