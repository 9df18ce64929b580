-- migration_0001: the first schema. All state of a domain lies under its id.

CREATE TABLE crawl (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE exclusions (
    line TEXT PRIMARY KEY
) WITHOUT ROWID;

-- What exclusions took out of the queue, the oldest first: a bounded number of URLs.
CREATE TABLE left_out (
    id INTEGER PRIMARY KEY,
    domain_id INTEGER NOT NULL,
    fp INTEGER NOT NULL,
    url TEXT NOT NULL,
    depth INTEGER NOT NULL,
    flags INTEGER NOT NULL
);

CREATE TABLE crawlers (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    host TEXT NOT NULL,
    pid INTEGER NOT NULL,
    started_ms INTEGER NOT NULL,
    renewed_ms INTEGER NOT NULL,
    lease_until INTEGER NOT NULL,
    dead INTEGER NOT NULL DEFAULT 0,
    last_batch INTEGER NOT NULL DEFAULT 0,
    pages INTEGER NOT NULL DEFAULT 0,
    queued INTEGER NOT NULL DEFAULT 0,   -- rows it put into the queue, less those it took out
    domains INTEGER NOT NULL DEFAULT 0,  -- rows it put into domains
    outcomes TEXT NOT NULL DEFAULT '{}',  -- rows it put into pages, by outcome
    stats TEXT NOT NULL DEFAULT '{}'
);

CREATE TABLE domains (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    lease_owner INTEGER NOT NULL,
    ready_at INTEGER NOT NULL,
    polite_at INTEGER NOT NULL,
    delay_ms INTEGER NOT NULL DEFAULT 0,
    failures INTEGER NOT NULL DEFAULT 0,
    pages INTEGER NOT NULL DEFAULT 0,
    queued INTEGER NOT NULL DEFAULT 0,
    releases INTEGER NOT NULL DEFAULT 0,
    seeded INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX domains_by_lease ON domains (lease_owner, ready_at) WHERE lease_owner >= 0;

CREATE TABLE origins (
    domain_id INTEGER NOT NULL,
    origin TEXT NOT NULL,
    fetched_ms INTEGER NOT NULL,
    status INTEGER NOT NULL,
    rules BLOB NOT NULL,
    failures INTEGER NOT NULL,
    retry_ms INTEGER NOT NULL,
    reason TEXT NOT NULL,
    detail TEXT NOT NULL DEFAULT '',
    aim TEXT NOT NULL DEFAULT '',
    hops INTEGER NOT NULL DEFAULT 0,
    asked_ms INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (domain_id, origin)
) WITHOUT ROWID;

-- Answers of errands: robots.txt files that those of other domains redirect to.
CREATE TABLE answers (
    domain_id INTEGER NOT NULL,
    fp INTEGER NOT NULL,
    url TEXT NOT NULL,
    fetched_ms INTEGER NOT NULL,
    status INTEGER NOT NULL,
    location TEXT NOT NULL,
    rules BLOB NOT NULL,
    PRIMARY KEY (domain_id, fp)
) WITHOUT ROWID;
CREATE INDEX answers_by_time ON answers (fetched_ms);

-- Addresses at which an errand is under way, or was a moment ago.
CREATE TABLE slots (
    address TEXT PRIMARY KEY,
    owner INTEGER NOT NULL,
    until_ms INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX slots_by_time ON slots (until_ms);

CREATE TABLE queue (
    domain_id INTEGER NOT NULL,
    ord INTEGER NOT NULL,
    fp INTEGER NOT NULL,
    url TEXT NOT NULL,
    depth INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    flags INTEGER NOT NULL,
    PRIMARY KEY (domain_id, ord, fp)
) WITHOUT ROWID;

-- ord: where its queue row is or was, so that a URL is found by its fingerprint alone.
CREATE TABLE seen (
    domain_id INTEGER NOT NULL,
    fp INTEGER NOT NULL,
    ord INTEGER NOT NULL,
    PRIMARY KEY (domain_id, fp)
) WITHOUT ROWID;

CREATE TABLE pages (
    id INTEGER PRIMARY KEY,
    domain_id INTEGER NOT NULL,
    fp INTEGER NOT NULL,
    url TEXT NOT NULL,
    depth INTEGER NOT NULL,
    fetched_ms INTEGER NOT NULL,
    status INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    content_type TEXT NOT NULL,
    wire_bytes INTEGER NOT NULL,
    text_chars INTEGER NOT NULL,
    content_hash INTEGER NOT NULL,
    redirect TEXT NOT NULL,
    title TEXT NOT NULL,
    text_segment INTEGER NOT NULL,
    text_frame INTEGER NOT NULL,
    text_offset INTEGER NOT NULL,
    warc_segment INTEGER NOT NULL,
    warc_offset INTEGER NOT NULL
);
CREATE UNIQUE INDEX pages_by_url ON pages (domain_id, fp);

CREATE TABLE segments (
    kind TEXT NOT NULL,
    id INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    length INTEGER NOT NULL,
    closed INTEGER NOT NULL,
    PRIMARY KEY (kind, id)
) WITHOUT ROWID;
