-- domain_states: what adding URLs to domains depends on
SELECT json_group_array(json_array(id, {state_columns}))
FROM domains WHERE id IN (SELECT value FROM json_each(?));

-- seen_first: the URLs of each domain that were seen, so far as they are few
SELECT json_group_array(json_array(each.value, json((
    SELECT json_group_array(fp) FROM (SELECT fp FROM seen WHERE domain_id = each.value LIMIT ?)))))
FROM json_each(?) AS each;

-- seen_among: which of a domain's URLs were seen
SELECT json_group_array(fp) FROM seen
WHERE domain_id = ? AND fp IN (SELECT value FROM json_each(?));

-- seen_insert: a URL is seen for the first time, or nothing happens
INSERT INTO seen (domain_id, fp, ord) VALUES (?, ?, ?) ON CONFLICT DO NOTHING;

-- seen_insert_rows: URLs of one domain are seen for the first time (the rows are added in the code)
INSERT INTO seen (domain_id, fp, ord) VALUES

-- queue_insert: a URL enters the queue
INSERT INTO queue (domain_id, ord, fp, url, depth, attempts, flags) VALUES (?, ?, ?, ?, ?, ?, ?);

-- queue_insert_rows: they enter the queue (the rows are added in the code)
INSERT INTO queue (domain_id, ord, fp, url, depth, attempts, flags) VALUES

-- domain_insert: a domain is found, never visited
INSERT INTO domains (id, name, queued, seeded) VALUES (:id, :name, :queued, :seeded);

-- domain_insert_new: a seed's domain, if it is not known
INSERT INTO domains (id, name, queued, seeded) VALUES (?, ?, ?, 1) ON CONFLICT DO NOTHING;

-- domain_seeded: a known domain turns out to be a seed
UPDATE domains SET seeded = 1 WHERE id = ?;

-- account_add: what seeds changed, in row 0, which belongs to nobody
INSERT INTO engines (id, host, pid, started_ms, renewed_ms, lease_until, dead, queued, domains)
VALUES (0, '', 0, :now, :now, 0, 1, :queued, :domains)
ON CONFLICT (id) DO UPDATE SET queued = queued + :queued, domains = domains + :domains;
