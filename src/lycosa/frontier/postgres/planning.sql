-- what_is_held: the store's time, and those domains of a batch that an engine holds ("+ 0" as in
-- any_not_held)
SELECT coalesce(%(now)s::int8, (extract(epoch FROM clock_timestamp()) * 1000)::int8),
    ARRAY(SELECT id FROM held WHERE id = ANY (%(ids)s) AND engine_id + 0 = %(engine_id)s);
