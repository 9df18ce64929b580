-- pages_again: pages are no longer done, unless their text is kept (or whether it is or not)
DELETE FROM pages AS p USING unnest(%(domains)s, %(fps)s) AS u (domain_id, fp)
WHERE p.domain_id = u.domain_id AND p.fp = u.fp AND (p.text_segment = 0 OR %(anyway)s)
RETURNING p.domain_id, p.fp, p.url, p.depth, p.status, p.outcome, p.label;

-- texts_lost: the text of pages is gone, and their outcome says so
UPDATE pages AS p SET outcome = %(outcome)s, text_segment = 0, text_frame = 0, text_offset = 0
FROM unnest(%(domains)s, %(fps)s) AS u (domain_id, fp)
WHERE p.domain_id = u.domain_id AND p.fp = u.fp AND p.outcome = 'ok';

-- warcs_lost: the WARC records of pages are gone
UPDATE pages AS p SET warc_segment = 0, warc_offset = 0
FROM unnest(%(domains)s, %(fps)s) AS u (domain_id, fp)
WHERE p.domain_id = u.domain_id AND p.fp = u.fp;

-- segment_shorten: less of a segment is left than was committed
UPDATE segments SET length = %(length)s
WHERE kind = %(kind)s AND id = %(id)s AND length > %(length)s;

-- origins_again: origins that failed for good are tried again
UPDATE origins AS o SET failures = 0, retry_ms = 0, reason = ''
FROM unnest(%(ids)s, %(names)s) AS u (id, name)
WHERE o.domain_id = u.id AND o.origin = u.name AND (o.failures > 0 OR o.reason <> '');

-- domain_pages_less: fewer pages of these domains are done
UPDATE domains AS d SET pages = greatest(0, d.pages - u.pages)
FROM unnest(%(ids)s, %(pages)s) AS u (id, pages) WHERE d.id = u.id;

-- counts_taken: what row 0 says of pages that people took back
SELECT outcomes, stats FROM engines WHERE id = 0 FOR UPDATE;

-- account_again: pages became queued URLs again, or have another outcome now
UPDATE engines SET pages = pages - %(pages)s, queued = queued + %(queued)s,
    outcomes = %(outcomes)s, stats = %(stats)s
WHERE id = 0;
