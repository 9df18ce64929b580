"""What the command line can do: one small function per command, found by `cli.COMMANDS`.

Each takes the checked options and the words of its command and returns the exit code. They are
imported only when called, so that `lycosa --help` stays quick.
"""
