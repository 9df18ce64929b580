"""Foreign bytes, by the million: what is fuzzed (targets), what counts as a failure (judge), and
what is kept (corpus). The tests beside run it for seconds, scripts/fuzz for hours."""
