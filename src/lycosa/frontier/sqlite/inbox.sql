-- inbox_post: links on their way (the brackets are repeated for many)
INSERT INTO inbox (key, links, data) VALUES (?, ?, ?);

-- inbox_read: the rows of the first bucket behind a key that has some, or of the first of all. `mask`:
-- the bits in which the keys of a bucket differ (its reader stops at `most` links)
WITH first AS MATERIALIZED (
    SELECT coalesce((SELECT min(key) FROM inbox WHERE key >= :key), (SELECT min(key) FROM inbox)) AS at
)
SELECT key, data FROM inbox
WHERE key >= (SELECT at FROM first) AND key <= ((SELECT at FROM first) | :mask)
ORDER BY key LIMIT :limit;

-- inbox_there: how many of these rows (their keys as JSON) are still there
SELECT count(*) FROM inbox WHERE key IN (SELECT value FROM json_each(?));

-- inbox_take: rows are delivered
DELETE FROM inbox WHERE key IN (SELECT value FROM json_each(?));

-- inbox_damaged: a row that can't be read is kept as it is (the brackets are repeated for many)
INSERT INTO damaged (domain_id, found_ms, key, why, data) VALUES (0, ?, ?, ?, ?);

-- account_delivered: what an engine delivered between two commits
UPDATE engines SET queued = queued + :queued, domains = domains + :domains WHERE id = :engine_id;
