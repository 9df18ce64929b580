-- left_out_insert: URLs that an exclusion took out of the queue
INSERT INTO left_out (domain_id, fp, url, depth, flags)
SELECT * FROM unnest(%(domains)s, %(fps)s, %(urls)s, %(depths)s, %(flags)s);

-- left_out_trim: of what was left out, the newest are kept
DELETE FROM left_out WHERE id <= (SELECT max(id) FROM left_out) - %(most)s;

-- left_out_delete: URLs that are queued again
DELETE FROM left_out WHERE id = ANY (%(ids)s);
