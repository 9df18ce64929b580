-- origins_of: what is known of the origins of domains
SELECT domain_id, origin, fetched_ms, status, rules, failures, retry_ms, reason, detail, aim, hops,
    asked_ms FROM origins WHERE domain_id IN (SELECT value FROM json_each(?));

