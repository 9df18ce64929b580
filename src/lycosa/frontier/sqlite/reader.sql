-- settings: all settings of the crawl
SELECT key, value FROM crawl;

-- engines: every engine that ever worked on this crawl
SELECT id, host, pid, started_ms, renewed_ms, lease_until, dead, pages, queued, domains,
    outcomes, stats
FROM engines ORDER BY id;

-- held_count: how many domains are held
SELECT count(*) FROM held;

-- ready_count: how many domains are ready, counted no further than a limit
SELECT count(*) FROM (SELECT 1 FROM ready WHERE ready_at <= :now LIMIT :limit);

-- longest_waits: the domains with something queued that are left alone for longest
SELECT d.name, max(r.ready_at, d.not_before) AS ready_at, d.delay_ms, d.failures
FROM ready AS r CROSS JOIN domains AS d ON d.id = r.id
WHERE r.ready_at > :now ORDER BY r.ready_at DESC LIMIT :limit;

-- page_by_url: the page of a URL
SELECT id, {page_columns} FROM pages WHERE id = (
    SELECT max(id) FROM (
        SELECT k.id FROM page_rolls AS r CROSS JOIN page_keys AS k ON k.roll = r.roll
        WHERE k.domain_id = :id AND k.fp = :fp
            AND EXISTS (SELECT 1 FROM pages WHERE pages.id = k.id)
        UNION ALL
        SELECT id FROM pages
        WHERE id > (SELECT coalesce(max(last), 0) FROM page_rolls) AND domain_id = :id AND fp = :fp));

-- pages_of: a condition for the pages of some domains (their ids as JSON) with ids behind one and up to
-- another
id IN (
    SELECT k.id FROM json_each(:domains) AS d CROSS JOIN page_rolls AS r CROSS JOIN page_keys AS k
        ON k.roll = r.roll AND k.domain_id = d.value
    WHERE r.last > :after AND k.id > :after AND k.id <= :to
    UNION ALL
    SELECT id FROM pages WHERE id > (SELECT coalesce(max(last), 0) FROM page_rolls)
        AND id > :after AND id <= :to AND domain_id IN (SELECT value FROM json_each(:domains)))

-- with_ids: a condition for the pages that have these ids
id IN (SELECT value FROM json_each(:ids))

-- pages_placed: pages and where their text and WARC records are, some at a time; of all segments, or
-- (as JSON) of some
SELECT {place_columns} FROM pages
WHERE id > :after AND (text_segment <> 0 OR warc_segment <> 0 OR outcome = 'ok')
    AND (:only IS NULL OR text_segment IN (SELECT value FROM json_each(:only))
        OR warc_segment IN (SELECT value FROM json_each(:only)))
ORDER BY id LIMIT :limit;

-- newest_page: the id of the page that was recorded last
SELECT max(id) FROM pages;

-- domain_origins: what is known of the origins of a domain
SELECT origin, fetched_ms, status, rules, failures, retry_ms, reason, detail, aim, hops,
    asked_ms FROM origins WHERE domain_id = :id ORDER BY origin;

-- origin_by_name: what is known of one origin
SELECT origin, fetched_ms, status, rules, failures, retry_ms, reason, detail, aim, hops,
    asked_ms FROM origins WHERE domain_id = :id AND origin = :origin;

-- all_domains: every domain
SELECT id, name FROM domains;

-- domains_among: which of these domains are known
SELECT name FROM domains WHERE id IN (SELECT value FROM json_each(:ids)) ORDER BY name;

-- some_domains: some of the domains that are known
SELECT name FROM domains LIMIT :limit;

-- exclusion_delete: one less
DELETE FROM exclusions WHERE line = :line;

-- left_out: what exclusions took out of the queue
SELECT id, domain_id, fp, url, depth, flags FROM left_out ORDER BY id;

-- links_on_their_way: how many links wait in buckets; of as many rows as a limit
SELECT coalesce(sum(links), 0) AS links FROM (SELECT links FROM inbox LIMIT :limit) AS rows;

-- inbox_between: the rows of buckets with keys between two
SELECT data FROM inbox WHERE key >= :first AND key <= :last ORDER BY key;
