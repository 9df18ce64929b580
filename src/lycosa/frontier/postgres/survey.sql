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

-- domains_of: some domains
SELECT id, name, engine_id, ready_at, delay_ms, failures, pages, queued, seeded
FROM domains WHERE id = ANY (%(ids)s);

-- domain_counts: the pages of a domain by all that is counted, of no more than so many
SELECT outcome, language, label, count(*) AS pages, sum(responded) AS responses
FROM (SELECT outcome, language, label, CASE WHEN status > 0 THEN 1 ELSE 0 END AS responded
    FROM pages WHERE domain_id = %(id)s LIMIT %(most)s) AS looked
GROUP BY 1, 2, 3;

-- queue_count: how many URLs of a domain are queued, counted no further than a limit
SELECT count(*) AS queued
FROM (SELECT 1 FROM queue WHERE domain_id = %(id)s LIMIT %(most)s) AS looked;

-- recorded_ms: when the page with a number, or the next one, was done
SELECT fetched_ms FROM pages WHERE id >= %(id)s ORDER BY id LIMIT 1;

-- queue_of: the queue of a domain behind a place in it
SELECT domain_id, ord, fp, url, depth, attempts, flags FROM queue
WHERE domain_id = %(id)s AND (ord, fp) > (%(ord)s, %(fp)s) ORDER BY ord, fp LIMIT %(limit)s;

-- queue_after: the queue of all domains behind a place in it
SELECT domain_id, ord, fp, url, depth, attempts, flags FROM queue
WHERE (domain_id, ord, fp) > (%(id)s, %(ord)s, %(fp)s) ORDER BY domain_id, ord, fp LIMIT %(limit)s;

-- held_domains: some domains that engines hold
SELECT id, name, engine_id, ready_at FROM domains
WHERE engine_id > 0 ORDER BY engine_id, ready_at LIMIT %(limit)s;

-- due_domains: the domains that are due next
SELECT id, name, engine_id, ready_at FROM domains
WHERE engine_id = 0 ORDER BY ready_at LIMIT %(limit)s;
