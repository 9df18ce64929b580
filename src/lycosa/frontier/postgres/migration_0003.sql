-- migration_0003: what a data set and a later crawl of the same pages need to know of a page.

-- Numbers first: a text before one costs up to seven bytes of padding.
ALTER TABLE pages
    ADD COLUMN main_chars int8 NOT NULL DEFAULT 0,
    ADD COLUMN simhash int8 NOT NULL DEFAULT 0,
    ADD COLUMN duration_ms int8 NOT NULL DEFAULT 0,
    ADD COLUMN modified_ms int8 NOT NULL DEFAULT 0,
    ADD COLUMN referrer int8 NOT NULL DEFAULT 0,
    ADD COLUMN warc_length int8 NOT NULL DEFAULT 0,
    ADD COLUMN language_score int4 NOT NULL DEFAULT 0,
    ADD COLUMN language text NOT NULL DEFAULT '',
    ADD COLUMN label text NOT NULL DEFAULT '',
    ADD COLUMN label_reason text NOT NULL DEFAULT '',
    ADD COLUMN truncated text NOT NULL DEFAULT '',
    ADD COLUMN address text NOT NULL DEFAULT '',
    ADD COLUMN etag text NOT NULL DEFAULT '',
    ADD COLUMN charset text NOT NULL DEFAULT '',
    ADD COLUMN payload_digest bytea NOT NULL DEFAULT '',
    ADD COLUMN warc_record bytea NOT NULL DEFAULT '';
