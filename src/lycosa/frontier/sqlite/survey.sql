-- known_domains: how many domains engines and seeds brought
SELECT sum(domains) AS domains FROM engines;

-- most_pages: of so many domains those with the most pages
SELECT name, pages AS value FROM (SELECT name, pages FROM domains LIMIT :most)
WHERE pages > 0 ORDER BY 2 DESC, 1 LIMIT :limit;

-- most_queued: of so many domains those with the most queued URLs
SELECT name, queued AS value FROM (SELECT name, queued FROM domains LIMIT :most)
WHERE queued > 0 ORDER BY 2 DESC, 1 LIMIT :limit;

-- longest_delay: of so many domains those whose robots.txt asks for the longest delay
SELECT name, delay_ms AS value FROM (SELECT name, delay_ms FROM domains LIMIT :most)
WHERE delay_ms > 0 ORDER BY 2 DESC, 1 LIMIT :limit;

-- most_failing: the domains with the most failures among the URLs that were done last
SELECT domain_id, count(*) AS value FROM pages
WHERE id > :after AND outcome NOT IN ({fine_outcomes})
GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT :limit;

-- slowest: the domains whose requests took longest among the URLs that were done last
SELECT domain_id, avg(duration_ms) AS value FROM pages
WHERE id > :after AND duration_ms > 0
GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT :limit;

-- domains_of: some domains (their ids as JSON), and who holds each
SELECT {domain_columns}
FROM domains AS d LEFT JOIN held AS h ON h.id = d.id
WHERE d.id IN (SELECT value FROM json_each(:ids));

-- ready_places: which of these domains (their ids as JSON) are among the first in line, and from when
-- on each may be visited
SELECT id, ready_at, more_pages, more_queued
FROM (SELECT * FROM ready ORDER BY ready_at, id LIMIT :most)
WHERE id IN (SELECT value FROM json_each(:ids));

-- ready_edge: how many domains are first in line, and from when on the last of them may be visited
SELECT count(*) AS looked_at, max(ready_at) AS ready_at
FROM (SELECT ready_at FROM ready ORDER BY ready_at, id LIMIT :most);

-- domain_counts: the pages of a domain by all that is counted, with fingerprints up to one, and of no
-- more than so many
SELECT outcome, language, label, count(*) AS pages, sum(responded) AS responses
FROM (SELECT outcome, language, label, status > 0 AS responded FROM pages WHERE id IN (
        SELECT k.id FROM page_rolls AS r CROSS JOIN page_keys AS k ON k.roll = r.roll
        WHERE k.domain_id = :id AND k.fp <= :highest
        UNION ALL
        SELECT id FROM pages WHERE id > (SELECT coalesce(max(last), 0) FROM page_rolls)
            AND domain_id = :id AND fp <= :highest)
    LIMIT :most)
GROUP BY 1, 2, 3;

-- recorded_ms: when the page with a number, or the next one, was done
SELECT fetched_ms FROM pages WHERE id >= :id ORDER BY id LIMIT 1;

-- held_domains: some domains that engines hold
SELECT d.id, d.name, h.engine_id FROM held AS h CROSS JOIN domains AS d ON d.id = h.id
LIMIT :limit;

-- due_domains: the domains that are due next
SELECT d.id, d.name, r.ready_at FROM ready AS r CROSS JOIN domains AS d ON d.id = r.id
ORDER BY r.ready_at, r.id LIMIT :limit;
