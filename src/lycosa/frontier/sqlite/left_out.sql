-- purge_keep: what an exclusion takes out of a domain's queue may be wanted again; not errands (8):
-- who waited for them hears that there is no answer, and asks anew if need be
INSERT INTO left_out (domain_id, fp, url, depth, flags)
SELECT domain_id, fp, url, depth, flags FROM queue
WHERE domain_id = :id AND url >= :low AND url < :high AND NOT flags & 8 ORDER BY ord;

-- left_out_insert: the same of one URL
INSERT INTO left_out (domain_id, fp, url, depth, flags) VALUES (?, ?, ?, ?, ?);

-- left_out_trim: of what was left out, the newest are kept
DELETE FROM left_out WHERE id <= (SELECT max(id) FROM left_out) - ?;

-- left_out_delete: URLs that are queued again
DELETE FROM left_out WHERE id IN (SELECT value FROM json_each(?));
