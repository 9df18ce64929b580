-- server_identity: which cluster of files this is, and which branch of its history is written
SELECT (SELECT system_identifier FROM pg_control_system())::text || '/'
    || left(pg_walfile_name(pg_current_wal_lsn()), 8);

-- server_known: the server that the crawl was on, and from when on it gives out leases
SELECT (SELECT value FROM crawl WHERE key = 'server'),
    (SELECT value::int8 FROM crawl WHERE key = 'leases_from');

-- server_first: the server of a crawl that had none
INSERT INTO crawl (key, value) VALUES ('server', %(server)s) ON CONFLICT DO NOTHING;

-- server_changed: of all that notice it, one gets a row
UPDATE crawl SET value = %(server)s WHERE key = 'server' AND value = %(before)s RETURNING key;

-- leases_from: nobody gets a domain before
INSERT INTO crawl (key, value) VALUES ('leases_from', (%(from)s::int8)::text)
ON CONFLICT (key) DO UPDATE SET value = excluded.value;

-- declare_all_dead: what any engine believes to hold is not what the store knows
UPDATE engines SET dead = true WHERE NOT dead;

-- wait_all: domains that asked for more than the usual delay, wherever they stand: all others wait
-- until leases are given out again
UPDATE domains SET not_before = greatest(not_before, %(since)s + delay_ms)
WHERE delay_ms > %(delay)s;

-- skip_numbers: numbers of engines whose registration was lost are not given out again
SELECT setval(pg_get_serial_sequence('engines', 'id'),
    nextval(pg_get_serial_sequence('engines', 'id')) + %(skip)s);
