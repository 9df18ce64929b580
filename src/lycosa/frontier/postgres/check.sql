-- server_facts: what must be known of a server before a crawl is on it
SELECT current_setting('server_version'), current_schema()::text,
    coalesce(has_schema_privilege(current_schema(), 'CREATE'), false),
    current_setting('max_connections')::int4
        - current_setting('superuser_reserved_connections')::int4
        - (SELECT count(*)::int4 FROM pg_stat_activity WHERE datid IS NOT NULL);

-- tables_unusable: how many of our tables this user may not read and write
SELECT count(*) FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = current_schema() AND c.relkind = 'r'
    AND c.relname IN ('crawl', 'exclusions', 'engines', 'domains', 'ready', 'held', 'asleep',
        'origins', 'answers', 'slots', 'log', 'inbox', 'damaged', 'dictionaries', 'queue', 'seen',
        'pages', 'segments', 'left_out', 'history', 'schema_version')
    AND NOT (has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'INSERT')
        AND has_table_privilege(c.oid, 'UPDATE') AND has_table_privilege(c.oid, 'DELETE'));
