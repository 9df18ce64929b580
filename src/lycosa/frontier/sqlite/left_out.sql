-- left_out_insert: a URL that an exclusion took out of the queue
INSERT INTO left_out (domain_id, fp, url, depth, flags) VALUES (?, ?, ?, ?, ?);

-- left_out_trim: of what was left out, the newest are kept
DELETE FROM left_out WHERE id <= (SELECT max(id) FROM left_out) - ?;

-- left_out_delete: URLs that are queued again
DELETE FROM left_out WHERE id IN (SELECT value FROM json_each(?));
