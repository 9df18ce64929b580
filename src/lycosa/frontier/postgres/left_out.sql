-- purge_exclude: the same, and what an exclusion takes out may be wanted again; not errands (8):
-- who waited for them hears that there is no answer, and asks anew if need be
WITH gone AS (
    DELETE FROM queue WHERE domain_id = %(id)s AND url >= %(low)s AND url < %(high)s RETURNING *
), forgotten AS (
    DELETE FROM seen AS s USING gone WHERE s.domain_id = gone.domain_id AND s.fp = gone.fp
), kept AS (
    INSERT INTO left_out (domain_id, fp, url, depth, flags)
    SELECT domain_id, fp, url, depth, flags FROM gone WHERE flags & 8 = 0 ORDER BY ord
)
SELECT count(*) FROM gone;

-- left_out_insert: the same of single URLs
INSERT INTO left_out (domain_id, fp, url, depth, flags)
SELECT * FROM unnest(%(domains)s, %(fps)s, %(urls)s, %(depths)s, %(flags)s);

-- left_out_trim: of what was left out, the newest are kept
DELETE FROM left_out WHERE id <= (SELECT max(id) FROM left_out) - %(most)s;

-- left_out_delete: URLs that are queued again
DELETE FROM left_out WHERE id = ANY (%(ids)s);
