"""A crawl as files that other tools read at once: tables (Parquet), lines (JSON), web archives.

`tables` says what a row is, `stream` goes through the pages once, the writers (`parquet`, `jsonl`,
`warcs`, `wet`, `cdxj`, `wacz`) make files of them, `target` gives the files their names when they
are whole. pyarrow and duckdb are imported only where they are used.
"""
