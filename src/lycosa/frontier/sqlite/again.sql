-- pages_again: pages that are done (their ids as JSON), unless their text is kept (or, by 1, whether it
-- is or not)
SELECT id, domain_id, fp, url, depth, status, outcome, label FROM pages
WHERE id IN (SELECT value FROM json_each(:ids)) AND (text_segment = 0 OR :anyway)
ORDER BY domain_id, fp;

-- texts_lost: the text of pages is gone, and their outcome says so
UPDATE pages SET outcome = :outcome, text_segment = 0, text_frame = 0, text_offset = 0
WHERE id IN (SELECT value FROM json_each(:ids)) AND outcome = 'ok';

-- warcs_lost: the WARC records of pages are gone
UPDATE pages SET warc_segment = 0, warc_offset = 0
WHERE id IN (SELECT value FROM json_each(:ids));

-- segment_shorten: less of a segment is left than was committed
UPDATE segments SET length = ? WHERE kind = ? AND id = ? AND length > ?;

-- origins_again: an origin that failed for good is tried again
UPDATE origins SET failures = 0, retry_ms = 0, reason = ''
WHERE domain_id = ? AND origin = ? AND (failures > 0 OR reason <> '');

-- domain_pages_less: fewer pages of a domain are done
UPDATE domains SET pages = max(0, pages - ?) WHERE id = ?;

-- counts_taken: what row 0 says of pages that people took back
SELECT outcomes, stats FROM engines WHERE id = 0;

-- account_again: pages became queued URLs again, or have another outcome now
UPDATE engines SET pages = pages - :pages, queued = queued + :queued, outcomes = :outcomes,
    stats = :stats
WHERE id = 0;
