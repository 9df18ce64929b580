-- log_of: the chunks of domains (their ids as JSON)
SELECT log.key, log.data FROM json_each(:ids) AS each
CROSS JOIN log ON log.key BETWEEN each.value & ~2147483647 AND each.value | 2147483647;

-- log_keys: the same without their data, as JSON
SELECT json_group_array(log.key) FROM json_each(:ids) AS each
CROSS JOIN log ON log.key BETWEEN each.value & ~2147483647 AND each.value | 2147483647;

-- log_ends: the last key of each domain, null if it has none
SELECT json_group_array((SELECT max(key) FROM log
    WHERE key BETWEEN each.value & ~2147483647 AND each.value | 2147483647))
FROM json_each(:ids) AS each;

-- log_insert: chunks (the brackets are repeated for many)
INSERT INTO log (key, data) VALUES (?, ?);

-- log_delete: chunks that were folded into others, or are set aside
DELETE FROM log WHERE key IN (SELECT value FROM json_each(?));

-- chunks_of: the chunks of a domain behind a number, as many as a limit (`home` is not needed)
SELECT key & ~2147483647 AS home, key & 2147483647 AS seq, data FROM log
WHERE key BETWEEN (:id & ~2147483647) + :seq + 1 AND :id | 2147483647 AND :home IS NOT NULL
ORDER BY key LIMIT :limit;

-- chunks_after: the chunks of all domains behind a number of one, as many as a limit
SELECT key & ~2147483647 AS home, key & 2147483647 AS seq, data FROM log
WHERE key > :home + :seq ORDER BY key LIMIT :limit;

-- set_aside: a chunk that can't be read is kept as it is
INSERT INTO damaged (domain_id, key, found_ms, why, data)
SELECT :domain_id, key, :now, :why, data FROM log WHERE key = :key;

-- dictionary_put: a dictionary that texts are packed with
INSERT INTO dictionaries (number, data) VALUES (?, ?) ON CONFLICT DO NOTHING;

-- dictionaries: those that texts may be packed with
SELECT number, data FROM dictionaries;

-- damaged_count: how many chunks were set aside because they could not be read
SELECT count(*) FROM damaged;
