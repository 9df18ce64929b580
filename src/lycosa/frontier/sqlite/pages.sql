-- page_ends: the newest id that a page ever had, and up to which id pages are in rolls
SELECT max(coalesce((SELECT max(id) FROM pages), 0),
           coalesce((SELECT CAST(value AS INTEGER) FROM crawl WHERE key = 'newest_page'), 0)),
       coalesce((SELECT max(last) FROM page_rolls), 0);

-- page_insert: a URL is done (the brackets are repeated for many)
INSERT INTO pages (id, {page_columns}) VALUES (?, {page_values});

-- pages_delete: pages are no longer done
DELETE FROM pages WHERE id IN (SELECT value FROM json_each(?));

-- damaged_domains: the domains of which a part of their logs was lost, as JSON
SELECT json_group_array(domain_id) FROM (SELECT DISTINCT domain_id FROM damaged);

-- page_ids: where the pages of URLs are (domains and fingerprints as JSON), if they are done
WITH wanted (domain_id, fp) AS MATERIALIZED (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:keys)
), found (domain_id, fp, id) AS (
    SELECT k.domain_id, k.fp, k.id
    FROM page_rolls AS r CROSS JOIN wanted AS w CROSS JOIN page_keys AS k
        ON k.roll = r.roll AND k.domain_id = w.domain_id AND k.fp = w.fp
    UNION ALL
    SELECT domain_id, fp, id FROM pages
    WHERE id > (SELECT coalesce(max(last), 0) FROM page_rolls)
        AND (domain_id, fp) IN (SELECT domain_id, fp FROM wanted)
)
SELECT domain_id, fp, id FROM found WHERE EXISTS (SELECT 1 FROM pages WHERE pages.id = found.id);

-- roll_insert: a roll begins
INSERT INTO page_rolls (level, last) VALUES (:level, :last) RETURNING roll;

-- roll_fill: the keys of the pages behind an id, up to that of a roll
INSERT INTO page_keys (roll, domain_id, fp, id)
SELECT :roll, domain_id, fp, id FROM pages WHERE id > :after AND id <= :last
ORDER BY domain_id, fp, id;

-- rolls_to_merge: a level of which there are many rolls, and up to which id the last of them goes; rolls
-- that are still being filled do not count
SELECT level, max(last) FROM page_rolls
WHERE goes_to IS NULL AND roll NOT IN (SELECT goes_to FROM page_rolls WHERE goes_to IS NOT NULL)
GROUP BY level HAVING count(*) >= :many LIMIT 1;

-- merge_begin: they will be one
UPDATE page_rolls SET goes_to = :target
WHERE level = :level AND goes_to IS NULL
    AND roll NOT IN (SELECT goes_to FROM page_rolls WHERE goes_to IS NOT NULL);

-- merging: the rolls that are being merged into one, the lowest level first
SELECT goes_to, roll FROM page_rolls
WHERE goes_to = (SELECT goes_to FROM page_rolls WHERE goes_to IS NOT NULL ORDER BY level LIMIT 1);

-- key_behind: the key of a roll that stands so far behind one
SELECT domain_id, fp, id FROM page_keys WHERE roll = ? AND (domain_id, fp, id) > (?, ?, ?)
ORDER BY domain_id, fp, id LIMIT 1 OFFSET ?;

-- keys_copy: the keys of rolls up to one, in order
INSERT INTO page_keys (roll, domain_id, fp, id)
SELECT :target, k.domain_id, k.fp, k.id
FROM page_rolls AS r CROSS JOIN page_keys AS k ON k.roll = r.roll
WHERE r.goes_to = :target AND (k.domain_id, k.fp, k.id) <= (:domain_id, :fp, :id)
ORDER BY k.domain_id, k.fp, k.id;

-- keys_delete: they leave their rolls
DELETE FROM page_keys WHERE roll = ? AND (domain_id, fp, id) <= (?, ?, ?);

-- keys_copy_rest: all keys that are left in rolls
INSERT INTO page_keys (roll, domain_id, fp, id)
SELECT :target, k.domain_id, k.fp, k.id
FROM page_rolls AS r CROSS JOIN page_keys AS k ON k.roll = r.roll
WHERE r.goes_to = :target ORDER BY k.domain_id, k.fp, k.id;

-- keys_delete_rest: they leave their rolls
DELETE FROM page_keys WHERE roll IN (SELECT roll FROM page_rolls WHERE goes_to = ?);

-- merge_end: empty rolls are gone
DELETE FROM page_rolls WHERE goes_to = ?;
