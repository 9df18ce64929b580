"""`lycosa seeds add`: more seeds for a crawl that runs or rests."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from lycosa.called import called
from lycosa.commands.change import wheel_of
from lycosa.commands.printing import print_json
from lycosa.commands.which_crawl import same_crawl
from lycosa.errors import UserError
from lycosa.settings.collect import Values
from lycosa.terminal import one_line

# No domain ends so (these are no top-level domains): such a word is a file that is not there.
FILES = (".txt", ".csv", ".tsv", ".lst", ".list", ".gz", ".zst", ".xz", ".bz2")
SHOWN = 20  # refused lines that are printed


def seeds(values: Values, words: list[str]) -> int:
    """Add seeds: files, '-' for standard input, domains or URLs."""
    from lycosa.node import seed_sources

    if words[:1] != ["add"] or not words[1:]:
        raise UserError(
            f"Write '{called('seeds')} add' and what to add: files, - for standard input, domains"
            " or URLs."
        )
    given = words[1:]
    named = [word for word in given if word == "-" or Path(word).exists()]
    for word in given:
        if word not in named and "/" not in word and word.lower().endswith(FILES):
            raise UserError(f"The seed file {one_line(word)} does not exist: check the path.")
    with seed_sources.spooled(named) as files, wheel_of(values) as wheel:
        seed_sources.check(files, named)
        added = wheel.add_seeds(_lines(given, dict(zip(named, files, strict=True))))
        running = wheel.running()
    if not added.taken and not added.known:
        line, why = added.refused[0]
        raise UserError(f"'{one_line(line)}' is no seed: {why}.")
    if values["json"]:
        refused = [{"line": line, "why": why} for line, why in added.refused]
        found = {"taken": added.taken, "known": added.known, "refused": added.refused_count}
        print_json({**found, "refused_lines": refused, "running": running})
        return 0
    for line, why in added.refused[:SHOWN]:
        print(f"lycosa: '{one_line(line)}' is left out: {why}.", file=sys.stderr)
    taken = "1 seed was" if added.taken == 1 else f"{added.taken:,} seeds were"
    known = "1 was" if added.known == 1 else f"{added.known:,} were"
    left_out = "1 line was" if added.refused_count == 1 else f"{added.refused_count:,} lines were"
    print(f"{taken} taken, {known} known before, {left_out} refused.")
    if added.taken and not running:
        print(f"The crawl goes on with: {called('crawl', '--resume', *same_crawl(values))}")
    return 0


def _lines(words: list[str], files: dict[str, str]) -> Iterator[bytes]:
    from lycosa.node.seed_file import open_seeds

    for word in words:
        if word in files:
            with open_seeds(files[word], word) as lines:
                yield from lines
        else:
            yield word.encode("utf-8", "surrogateescape")
