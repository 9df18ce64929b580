-- inbox_post: links on their way
INSERT INTO inbox (key, links, data) SELECT * FROM unnest(%(keys)s, %(links)s, %(data)s);

-- inbox_read: the rows of the first bucket behind a key that has some, or of the first of all: as many as
-- have so many links, and one more. `mask`: the bits in which the keys of a bucket differ
WITH first AS MATERIALIZED (
    SELECT coalesce((SELECT min(key) FROM inbox WHERE key >= %(key)s), (SELECT min(key) FROM inbox)) AS at
), bucket AS (
    SELECT key, data, coalesce(sum(links) OVER (
        ORDER BY key ROWS BETWEEN UNBOUNDED PRECEDING AND 2 PRECEDING), 0) AS before
    FROM inbox WHERE key >= (SELECT at FROM first) AND key <= ((SELECT at FROM first) | %(mask)s)
    ORDER BY key LIMIT %(limit)s
)
SELECT key, data FROM bucket WHERE before < %(most)s ORDER BY key;

-- inbox_take: rows are delivered, if all of them are there and nobody else is about to deliver one;
-- tells how many
WITH found AS MATERIALIZED (
    SELECT key FROM inbox WHERE key = ANY (%(keys)s) ORDER BY key FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM inbox AS i USING found
    WHERE i.key = found.key AND (SELECT count(*) FROM found) = %(count)s RETURNING 1
)
SELECT count(*) FROM gone;

-- inbox_damaged: rows that can't be read are kept as they are
INSERT INTO damaged (domain_id, seq, found_ms, why, data)
SELECT 0, u.key, %(now)s, u.why, u.data
FROM unnest(%(keys)s, %(whys)s, %(data)s) AS u (key, why, data);

-- account_delivered: what an engine delivered between two commits
UPDATE engines SET queued = queued + %(queued)s, domains = domains + %(domains)s
WHERE id = %(engine_id)s;
