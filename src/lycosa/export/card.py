"""The card of a data set: README.md with what Hugging Face reads, counts and columns. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lycosa import __version__
from lycosa.export.tables import COMMON_CRAWL, FINEWEB, Columns
from lycosa.units import size

_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (10**6, "100K<n<1M"))
_LARGER = ((10**7, "1M<n<10M"), (10**8, "10M<n<100M"), (10**9, "100M<n<1B"))


def card(
    name: str,
    tables: Mapping[str, Columns],
    counts: Mapping[str, int],
    total_bytes: int,
    filters: Mapping[str, Any],
    day: str,
) -> str:
    """The text of the card."""
    parts = [
        _front_matter(name, tables, max(counts.values(), default=0)),
        f"# {name}",
        f"Web pages, crawled and exported on {day} by lycosa {__version__}"
        f" ({size(total_bytes)} in Parquet files).",
        _table(("table", "rows"), [(f"`{table}`", f"{counts[table]:,}") for table in tables]),
        _chosen(filters),
        "Pages of domains that the crawl excludes are left out.",
        "## Licence",
        "The texts belong to those who wrote them; nobody has asked them. The owner of this data"
        " set has to say here by which right and on which terms it is shared.",
        *(_columns(table, columns) for table, columns in tables.items()),
        "## How to read it",
        "```python\nfrom datasets import load_dataset\n\n"
        f'pages = load_dataset("parquet", data_files="{next(iter(tables))}/*.parquet")\n```',
        f"```sql\nSELECT count(*) FROM '{next(iter(tables))}/*.parquet'; -- DuckDB\n```",
        "`token_count` is an estimate of what GPT-2's tokenizer gives: characters / 4.5, and 0.65"
        " for each byte beyond ASCII. Moments are UTC. What is not known is null.",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _front_matter(name: str, tables: Mapping[str, Columns], rows: int) -> str:
    sizes = [word for most, word in (*_SIZES, *_LARGER) if rows < most] or ["n>1B"]
    configs = [
        f"- config_name: {table}\n  data_files:\n  - split: train\n    path: {table}/*.parquet"
        + ("\n  default: true" if number == 0 else "")
        for number, table in enumerate(tables)
    ]
    lines = [
        "---",
        f"pretty_name: {name}",
        "license: other",
        "task_categories:\n- text-generation",
        f"size_categories:\n- {sizes[0]}",
        "configs:",
        *configs,
        "---",
    ]
    return "\n".join(lines)


def _chosen(filters: Mapping[str, Any]) -> str:
    if not filters:
        return "All pages of the crawl."
    return "Chosen by: " + ", ".join(f"{name} {value}" for name, value in filters.items()) + "."


def _columns(table: str, columns: Columns) -> str:
    theirs, whose = (FINEWEB, "FineWeb") if table == "text" else (COMMON_CRAWL, "Common Crawl")
    rows = [
        (f"`{name}`", kind, whose if name in theirs else "lycosa") for name, kind in columns.items()
    ]
    return f"## Columns of `{table}`\n\n" + _table(("column", "type", "as in"), rows)


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
