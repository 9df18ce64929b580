"""`lycosa simweb`: passes on to the simulated web, which has its own flags."""

from lycosa.settings.collect import Values


def simweb(_: Values, words: list[str]) -> int:
    """Serve a simulated web on loopback."""
    from lycosa.simweb.command import main

    return main(words)
