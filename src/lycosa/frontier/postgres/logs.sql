-- log_of: the chunks of domains
SELECT domain_id, seq, data FROM log WHERE domain_id = ANY (%(ids)s);

-- log_insert: chunks
INSERT INTO log (domain_id, data) SELECT * FROM unnest(%(ids)s, %(chunks)s);

-- log_delete: chunks that were folded into others; tells how many
WITH gone AS (
    DELETE FROM log AS l USING unnest(%(ids)s, %(seqs)s) AS u (domain_id, seq)
    WHERE l.domain_id = u.domain_id AND l.seq = u.seq RETURNING 1
)
SELECT count(*) FROM gone;

-- set_aside: chunks that can't be read leave the log and are kept as they are
WITH gone AS (
    DELETE FROM log AS l USING unnest(%(ids)s, %(seqs)s, %(whys)s) AS u (domain_id, seq, why)
    WHERE l.domain_id = u.domain_id AND l.seq = u.seq
    RETURNING l.domain_id, l.seq, %(now)s::int8, u.why, l.data
)
INSERT INTO damaged (domain_id, seq, found_ms, why, data) SELECT * FROM gone;

-- chunks_of: the chunks of a domain behind a number, as many as a limit
SELECT domain_id AS home, seq, data FROM log
WHERE domain_id = %(id)s::int8 AND seq > %(seq)s::int8 ORDER BY seq LIMIT %(limit)s;

-- chunks_after: the chunks of all domains behind a number of one, as many as a limit
SELECT domain_id AS home, seq, data FROM log
WHERE (domain_id, seq) > (%(home)s::int8, %(seq)s::int8) ORDER BY domain_id, seq LIMIT %(limit)s;

-- dictionary_put: a dictionary that texts are packed with
INSERT INTO dictionaries (number, data) VALUES (%(number)s, %(data)s) ON CONFLICT DO NOTHING;

-- dictionaries: those that texts may be packed with
SELECT number, data FROM dictionaries;

-- damaged_count: how many chunks were set aside because they could not be read
SELECT count(*) FROM damaged;
