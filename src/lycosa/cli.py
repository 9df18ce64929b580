"""The command line: turns words into checked options and calls one command.

Owns help, exit codes and what a person reads when something is wrong. The commands are listed in
`commands/table`, the flags come from `options`, the work is in `commands`. Imports nothing heavy:
`lycosa --help` must answer at once.

Exit codes: 0 done, 1 it failed, 2 the user can fix it, 3 a crawl that was asked to stop before its
end, 130 interrupted.
"""

from __future__ import annotations

import argparse
import errno
import sys
from collections.abc import Callable
from importlib import import_module
from typing import NoReturn

from lycosa import __version__
from lycosa.called import NAME, called
from lycosa.commands.table import COMMANDS, Command
from lycosa.errors import Damaged, LycosaError, UserError
from lycosa.settings.collect import Values, closest, collect
from lycosa.settings.options import SWITCH, Option, options_of
from lycosa.terminal import guarded

DAMAGE_SECONDS = 30.0  # for a search for damage after a command failed unexpectedly
# Commands that exit with 1 on a damaged database; others with 2.
RUNS = ("crawl", "demo", "verify", "export")


class _Parser(argparse.ArgumentParser):
    """One sentence instead of a page of usage."""

    def error(self, message: str) -> NoReturn:
        hint = f"see '{self.prog} --help'"
        raise UserError(f"{message[:1].upper()}{message[1:].rstrip('.')} ({hint}).")


def _help(option: Option) -> str:
    if option.shown_default:
        note = f" (default: {option.shown_default})"
    elif option.default in (None, "", False, True, ()):
        note = ""
    else:
        note = f" (default: {default_text(option)})"
    return (option.help + note).replace("%", "%%")


def default_text(option: Option) -> str:
    """The default as a person would write it."""
    if option.name == "max-body":
        return "5M"
    if isinstance(option.default, float):
        return f"{option.default:g}" + (" s" if option.unit == "seconds" else "")
    return "" if option.default in (None, "", False, ()) else str(option.default)


def _add(parser: argparse.ArgumentParser, option: Option) -> None:
    """Add one flag. Its value stays text: `collect` reads flags, variables and files alike."""
    name = option.name
    if option.kind is SWITCH:
        shown, hidden = option.flag, f"--no-{name}" if not option.default else f"--{name}"
        for flag, text in ((shown, _help(option)), (hidden, argparse.SUPPRESS)):
            parser.add_argument(
                flag, dest=name, action="store_const", const=flag == f"--{name}", help=text
            )
        return
    parser.add_argument(
        f"--{name}",
        dest=name,
        metavar=option.metavar or None,
        action="append" if option.repeat else "store",
        help=_help(option),
    )


def _epilog(examples: tuple[str, ...]) -> str:
    if not examples:
        return ""
    typed = (called() + line.removeprefix(NAME) for line in examples)
    return "\n".join(["examples:", *(f"  {line}" for line in typed)])


def make_parser() -> argparse.ArgumentParser:
    """The whole command line."""
    examples = (
        "lycosa demo",
        "lycosa crawl seeds.txt --email you@example.org",
        "lycosa status",
        "lycosa COMMAND --help",
    )
    parser = _Parser(
        prog=called(),
        description="Crawls the web broadly, politely and fast, and keeps the text.",
        epilog=_epilog(examples),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        argument_default=argparse.SUPPRESS,
    )
    parser.add_argument("--version", action="version", version=f"lycosa {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for command in COMMANDS:
        _add_command(commands, command)
    return parser


def _add_command(commands: argparse._SubParsersAction[_Parser], command: Command) -> None:
    sub = commands.add_parser(
        command.name,
        help=command.help,
        description=command.help[:1].upper() + command.help[1:] + ".",
        epilog=_epilog(command.examples),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        argument_default=argparse.SUPPRESS,
        add_help=command.name != "simweb",
    )
    if command.words:
        count = None if command.words_count == "1" else command.words_count
        metavar = command.words
        sub.add_argument("words", metavar=metavar, nargs=count, help=command.words_help)
    for option in options_of(command.name):
        _add(sub, option)


def parse_command_line(argv: list[str]) -> tuple[Command, Values, list[str]]:
    """The command, its options checked, and its words."""
    if argv[:1] == ["simweb"]:  # everything after it belongs to the simulated web
        return _command("simweb"), Values({}, frozenset()), argv[1:]
    parser = make_parser()
    if not argv:
        parser.print_help()
        raise SystemExit(2)
    names = [command.name for command in COMMANDS]
    if not argv[0].startswith("-") and argv[0] not in names:
        raise UserError(f"There is no command '{argv[0]}'{_advice(argv[0], names, called())}")
    found, extra = parser.parse_known_args(argv)
    flags = vars(found)
    name = flags.pop("command", None)
    if extra:
        raise UserError(_unknown(extra[0], name))
    if name is None:
        raise UserError(f"Name a command (see '{called('--help')}').")
    words = flags.pop("words", [])
    return (
        _command(name),
        collect(name, flags),
        [words] if isinstance(words, str) else list(words),
    )


def _command(name: str) -> Command:
    return next(command for command in COMMANDS if command.name == name)


def _unknown(word: str, command: str | None) -> str:
    word = word.split("=")[0]
    whose = called(command) if command else called()
    if not word.startswith("-"):
        return f"'{whose}' does not take the word '{word}' (see '{whose} --help')."
    known = [option.flag for option in options_of(command)] if command else ["--help", "--version"]
    return f"'{whose}' has no option {word}{_advice(word, known, whose)}"


def _advice(word: str, known: list[str], whose: str) -> str:
    """The end of a sentence about a word that is not known."""
    near = closest(word, known)
    return near if near != "." else f" (see '{whose} --help')."


def _run(argv: list[str]) -> int:
    try:
        command, values, words = parse_command_line(argv)
    finally:
        sys.stdout.flush()  # of a help text: a closed pipe shows here, not at exit
    module, function = command.does.split(":")
    run: Callable[[Values, list[str]], int] = getattr(
        import_module(f"lycosa.commands.{module}"), function
    )
    code = _sound(lambda: run(values, words), command.name, values)
    if values.advice and command.name != "crawl":  # which said so when it began
        print(f"lycosa: {values.advice}", file=sys.stderr)
    sys.stdout.flush()  # so that a closed pipe shows here, not at exit
    return code


def _sound(run: Callable[[], int], command: str, values: Values) -> int:
    """Run a command; if it fails because its database is damaged, say so. SQLite has no checksums:
    a damaged value may make any line of ours fail."""
    try:
        return run()
    except (UserError, OSError):
        raise
    except Damaged as error:
        return _complain(error, 1 if command in RUNS else 2)
    except Exception:
        cause = _damage(values) if "data-dir" in values else None
        if cause is None:
            raise
        return _complain(cause, 1 if command in RUNS else 2)


def _damage(values: Values) -> LycosaError | None:
    from lycosa.frontier.protocol import check_file

    given = values["data-dir"]
    try:
        check_file(given[0] if isinstance(given, tuple) else given, DAMAGE_SECONDS)
    except Damaged as error:
        return error
    return None


_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
# What to do about a file or directory that can't be used, where the error itself tells.
_ADVICE = {
    **dict.fromkeys(
        (errno.EACCES, errno.EPERM, errno.EROFS), "change its permissions, or name another one"
    ),
    **dict.fromkeys((errno.EEXIST, errno.ENOTDIR), "name a directory"),
    errno.EISDIR: "name a file in it",
}


def main(argv: list[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    _have_streams()
    with guarded():
        return _answered(sys.argv[1:] if argv is None else argv)


def _answered(argv: list[str]) -> int:
    """Run it; an error becomes one sentence and an exit code."""
    try:
        return _run(argv)
    except UserError as error:
        return _complain(error, 2)
    except LycosaError as error:
        return _complain(error, 1)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader went away (`| head`). Python would complain once more at exit.
        _silence_stdout()
        return 0
    except OSError as error:
        return _complain(_explain(error), 1 if error.errno in _FULL else 2)


def _have_streams() -> None:
    """Opens /dev/null for closed standard streams, which are None in Python."""
    import os

    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115


def _explain(error: OSError) -> LycosaError:
    what = f" {error.filename}" if error.filename else ""
    if error.errno in _FULL:
        return LycosaError(f"The disk is full{what and ':'}{what}. Make room and try again.")
    advice = f"; {_ADVICE[error.errno]}" if error.errno in _ADVICE and what else ""
    return LycosaError(f"Can't use{what or ' a file'}: {error.strerror or error}{advice}.")


def _complain(error: LycosaError, code: int) -> int:
    from lycosa.terminal import redact

    text = " ".join(redact(str(error)).split()) or type(error).__name__
    print(f"lycosa: {text}", file=sys.stderr)
    return code


def _silence_stdout() -> None:
    import os

    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
