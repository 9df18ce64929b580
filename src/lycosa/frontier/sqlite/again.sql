-- page_again: a page that is done, unless its text is kept (or, by 1, whether it is or not)
SELECT domain_id, fp, url, depth, status, outcome FROM pages
WHERE domain_id = ? AND fp = ? AND (text_segment = 0 OR ?);

-- page_delete: a page is no longer done
DELETE FROM pages WHERE domain_id = ? AND fp = ?;

-- texts_lost: the text of a page is gone, and its outcome says so
UPDATE pages SET outcome = ?, text_segment = 0, text_frame = 0, text_offset = 0
WHERE domain_id = ? AND fp = ? AND outcome = 'ok';

-- warcs_lost: the WARC records of a page are gone
UPDATE pages SET warc_segment = 0, warc_offset = 0 WHERE domain_id = ? AND fp = ?;

-- segment_shorten: less of a segment is left than was committed
UPDATE segments SET length = ? WHERE kind = ? AND id = ? AND length > ?;

-- origins_again: an origin that failed for good is tried again
UPDATE origins SET failures = 0, retry_ms = 0, reason = ''
WHERE domain_id = ? AND origin = ? AND (failures > 0 OR reason <> '');

-- domain_pages_less: fewer pages of a domain are done
UPDATE domains SET pages = max(0, pages - ?) WHERE id = ?;

-- outcomes_taken: what row 0 says of pages that people took back
SELECT outcomes FROM engines WHERE id = 0;

-- account_again: pages became queued URLs again, or have another outcome now
UPDATE engines SET pages = pages - :pages, queued = queued + :queued, outcomes = :outcomes
WHERE id = 0;
