-- history_put: a node's line of figures that speaks for so many seconds
INSERT INTO history (node, seconds, at_ms, line)
VALUES (%(node)s, %(seconds)s, %(at_ms)s, %(line)s)
ON CONFLICT (node, seconds, at_ms) DO UPDATE SET line = excluded.line;

-- history_forget: lines of a node that have aged: coarser ones speak of their time
DELETE FROM history WHERE node = %(node)s AND seconds = %(seconds)s AND at_ms < %(before_ms)s;

-- history_nodes: the nodes that left lines, and how coarse these are
SELECT DISTINCT node, seconds FROM history ORDER BY node, seconds;

-- history_newest: the newest line of a node
SELECT line FROM history WHERE node = %(node)s AND seconds = %(seconds)s
ORDER BY at_ms DESC LIMIT 1;

-- history_lines: the lines of a node between two moments, the oldest first
SELECT line FROM history WHERE node = %(node)s AND seconds = %(seconds)s
    AND at_ms >= %(since_ms)s AND at_ms <= %(until_ms)s
ORDER BY at_ms LIMIT %(limit)s;
