-- settings: all settings of the crawl
SELECT key, value FROM crawl;

-- engines: every engine that ever worked on this crawl
SELECT id, host, pid, node, directory, started_ms, renewed_ms, lease_until, dead, pages, queued,
    domains, outcomes, stats
FROM engines ORDER BY id;

-- place: where the output of an engine lies
SELECT host, directory, node FROM engines WHERE id = %(engine_id)s;

-- held_count: how many domains are held
SELECT count(*) FROM held;

-- ready_count: how many domains are ready, counted no further than a limit
SELECT count(*) FROM (
    SELECT 1 FROM ready WHERE ready_at <= %(now)s LIMIT %(limit)s) AS counted;

-- longest_waits: the domains with something queued that are left alone for longest
SELECT d.name, greatest(r.ready_at, d.not_before) AS ready_at, d.delay_ms, d.failures
FROM (SELECT ready_at, id FROM ready
    WHERE ready_at > %(now)s ORDER BY ready_at DESC LIMIT %(limit)s) AS r
JOIN domains AS d ON d.id = r.id ORDER BY r.ready_at DESC;

-- page_by_url: the page of a URL
SELECT id, {page_columns} FROM pages WHERE domain_id = %(id)s AND fp = %(fp)s;

-- pages_of: a condition for the pages of some domains
domain_id = ANY (%(domains)s)

-- with_ids: a condition for the pages that have these ids
id = ANY (%(ids)s)

-- pages_placed: pages and where their text and WARC records are, some at a time; of all segments, or
-- of some
SELECT {place_columns} FROM pages
WHERE id > %(after)s AND (text_segment <> 0 OR warc_segment <> 0 OR outcome = 'ok')
    AND (%(only)s::int8[] IS NULL OR text_segment = ANY (%(only)s) OR warc_segment = ANY (%(only)s))
ORDER BY id LIMIT %(limit)s;

-- newest_page: the id of the page that was recorded last
SELECT max(id) FROM pages;

-- domain_origins: what is known of the origins of a domain
SELECT origin, fetched_ms, status, rules, failures, retry_ms, reason, detail, aim, hops,
    asked_ms FROM origins WHERE domain_id = %(id)s ORDER BY origin;

-- origin_by_name: what is known of one origin
SELECT origin, fetched_ms, status, rules, failures, retry_ms, reason, detail, aim, hops,
    asked_ms FROM origins
WHERE domain_id = %(id)s AND origin = %(origin)s;

-- all_domains: every domain
SELECT id, name FROM domains;

-- domains_among: which of these domains are known
SELECT name FROM domains WHERE id = ANY (%(ids)s) ORDER BY name;

-- some_domains: some of the domains that are known
SELECT name FROM domains LIMIT %(limit)s;

-- exclusion_delete: one less
DELETE FROM exclusions WHERE line = %(line)s;

-- left_out: what exclusions took out of the queue
SELECT id, domain_id, fp, url, depth, flags FROM left_out ORDER BY id;

-- links_on_their_way: how many links wait in buckets; of as many rows as a limit
SELECT coalesce(sum(links), 0)::int8 AS links FROM (SELECT links FROM inbox LIMIT %(limit)s) AS rows;

-- inbox_between: the rows of buckets with keys between two
SELECT data FROM inbox WHERE key >= %(first)s AND key <= %(last)s ORDER BY key;
