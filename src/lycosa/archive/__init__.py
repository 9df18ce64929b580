"""What a crawl keeps, append-only, under its data directory.

    segments   files that only grow, their committed lengths, and cutting back to them (F2)
    text       one JSON line per page, packed in zstd frames: text/*.jsonl.zst
    warc       requests and responses as received, ISO 28500: warc/*.warc
    ledger     when each domain was visited: visits/*.jsonl
    audit, address_audit    what the ledger proves of politeness
    reading, text_check, warc_check, ledger_check    whether segments are still what was written

Knows nothing of the frontier: committed lengths are handed in and out as plain values.
"""
