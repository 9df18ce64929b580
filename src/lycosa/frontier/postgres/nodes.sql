-- crawl_begin: a crawl begins, or there is one already
INSERT INTO crawl (key, value) VALUES ('crawl_id', %(id)s) ON CONFLICT DO NOTHING;

-- others: engines of other nodes whose lease runs, and nodes heard of while they start theirs
WITH clock AS MATERIALIZED (
    SELECT coalesce(%(now)s::int8, (extract(epoch FROM clock_timestamp()) * 1000)::int8) AS now)
SELECT (SELECT count(*) FROM engines
        WHERE NOT dead AND node <> %(node)s AND lease_until >= (SELECT now FROM clock))
    + (SELECT count(*) FROM crawl
       WHERE (key >= 'opened:' AND key < 'opened;' OR key >= 'loading:' AND key < 'loading;')
         AND key NOT IN ('opened:' || %(node)s, 'loading:' || %(node)s)
         AND value::int8 + %(lease)s > (SELECT now FROM clock));

-- open_lock: nodes that open the crawl wait here for each other
SELECT pg_advisory_lock(%(key)s);

-- open_unlock: the next one may
SELECT pg_advisory_unlock(%(key)s);
