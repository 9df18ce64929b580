"""One module per command, each with a function that `table.COMMANDS` names.

The function takes the checked options and the words of its command, and returns the exit code.
`cli` imports a module only when its command is called, so that `lycosa --help` stays quick. What
commands share: `which_crawl`, `printing`, `names`, `change`, and `hits` for exclusions.
"""
