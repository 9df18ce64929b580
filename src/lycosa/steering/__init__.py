"""What changes a crawl that runs or rests: exclusions, seeds, settings, pause and stop.

`wheel` has the class and its verbs, for commands and the dashboard alike. Everything is written to
the store; engines and supervisors of all nodes hear of it with their next commit.
"""
