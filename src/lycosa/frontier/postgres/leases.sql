-- ask_for_domains: of all engines that find no domain ready, the one that holds fewest says so for a while
INSERT INTO crawl (key, value) VALUES ('wants_domains', %(held)s::int8 || ':' || %(until)s::int8)
ON CONFLICT (key) DO UPDATE SET value = excluded.value
WHERE split_part(crawl.value, ':', 1)::int8 >= %(held)s::int8
    OR split_part(crawl.value, ':', 2)::int8 < %(now)s::int8;

-- origins_of: what is known of the origins of these domains
SELECT domain_id, origin, fetched_ms, status, rules, failures, retry_ms, reason, detail, aim, hops,
    asked_ms FROM origins WHERE domain_id = ANY (%(ids)s);
