-- known_domains: how many domains engines and seeds brought
SELECT sum(domains)::int8 AS domains FROM engines;

-- most_pages: of so many domains those with the most pages
SELECT name, pages AS value FROM (SELECT name, pages FROM domains LIMIT %(most)s) AS looked
WHERE pages > 0 ORDER BY 2 DESC, 1 LIMIT %(limit)s;

-- most_queued: of so many domains those with the most queued URLs
SELECT name, queued AS value FROM (SELECT name, queued FROM domains LIMIT %(most)s) AS looked
WHERE queued > 0 ORDER BY 2 DESC, 1 LIMIT %(limit)s;

-- longest_delay: of so many domains those whose robots.txt asks for the longest delay
SELECT name, delay_ms AS value FROM (SELECT name, delay_ms FROM domains LIMIT %(most)s) AS looked
WHERE delay_ms > 0 ORDER BY 2 DESC, 1 LIMIT %(limit)s;

-- most_failing: the domains with the most failures among the URLs that were done last; '+ 0', or an
-- index of all pages by domain would be read from end to end
SELECT domain_id + 0 AS domain_id, count(*) AS value FROM pages
WHERE id > %(after)s AND outcome NOT IN ({fine_outcomes})
GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT %(limit)s;

-- slowest: the domains whose requests took longest among the URLs that were done last
SELECT domain_id + 0 AS domain_id, avg(duration_ms)::float8 AS value FROM pages
WHERE id > %(after)s AND duration_ms > 0
GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT %(limit)s;

-- domains_of: some domains, and who holds each
SELECT {domain_columns}
FROM domains AS d LEFT JOIN held AS h ON h.id = d.id
WHERE d.id = ANY (%(ids)s);

-- ready_places: which of these domains are among the first in line, and from when on each may be visited
SELECT id, ready_at, more_pages, more_queued FROM (
    SELECT * FROM ready ORDER BY ready_at, id LIMIT %(most)s) AS looked
WHERE id = ANY (%(ids)s);

-- ready_edge: how many domains are first in line, and from when on the last of them may be visited
SELECT count(*) AS looked_at, max(ready_at) AS ready_at
FROM (SELECT ready_at FROM ready ORDER BY ready_at, id LIMIT %(most)s) AS looked;

-- domain_counts: the pages of a domain by all that is counted, with fingerprints up to one, and of no
-- more than so many
SELECT outcome, language, label, count(*) AS pages, sum(responded) AS responses
FROM (SELECT outcome, language, label, CASE WHEN status > 0 THEN 1 ELSE 0 END AS responded
    FROM pages WHERE domain_id = %(id)s AND fp <= %(highest)s LIMIT %(most)s) AS looked
GROUP BY 1, 2, 3;

-- recorded_ms: when the page with a number, or the next one, was done
SELECT fetched_ms FROM pages WHERE id >= %(id)s ORDER BY id LIMIT 1;

-- held_domains: some domains that engines hold
SELECT d.id, d.name, h.engine_id
FROM (SELECT id, engine_id FROM held LIMIT %(limit)s) AS h JOIN domains AS d ON d.id = h.id;

-- due_domains: the domains that are due next
SELECT d.id, d.name, r.ready_at
FROM (SELECT ready_at, id FROM ready ORDER BY ready_at, id LIMIT %(limit)s) AS r
JOIN domains AS d ON d.id = r.id ORDER BY r.ready_at, r.id;
