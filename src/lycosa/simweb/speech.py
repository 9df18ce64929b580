"""Text in the languages that simulated domains declare, for crawls that want some of them only.

Owns a few sentences of each; a page is made of them in random order. Without markup beyond
paragraphs: what a parser costs is measured on the pages of `markup`.
"""

from __future__ import annotations

from lycosa.simweb.chance import draw

SENTENCES = {
    "en": (
        "The old town lies on the bank of the river.",
        "Every year thousands of people come to see its markets and gardens.",
        "In the evening the children play in front of the church.",
        "Nobody knows how long the bridge has been standing there.",
        "Whoever stays longer learns the names of all the streets.",
    ),
    "de": (
        "Die alte Stadt liegt am Ufer des Flusses.",
        "Jedes Jahr kommen Tausende Menschen, um ihre Märkte und Gärten zu sehen.",
        "Am Abend spielen die Kinder vor der Kirche.",
        "Niemand weiß, wie lange die Brücke dort schon steht.",
        "Wer länger bleibt, lernt die Namen aller Straßen.",
    ),
    "fr": (
        "La vieille ville se trouve au bord du fleuve.",
        "Chaque année, des milliers de personnes viennent voir ses marchés et ses jardins.",
        "Le soir, les enfants jouent devant l'église.",
        "Personne ne sait depuis quand le pont est là.",
        "Celui qui reste plus longtemps apprend le nom de toutes les rues.",
    ),
    "es": (
        "La ciudad vieja está a la orilla del río.",
        "Cada año vienen miles de personas para ver sus mercados y jardines.",
        "Por la tarde los niños juegan delante de la iglesia.",
        "Nadie sabe desde cuándo está allí el puente.",
        "Quien se queda más tiempo aprende los nombres de todas las calles.",
    ),
    "nl": (
        "De oude stad ligt aan de oever van de rivier.",
        "Elk jaar komen duizenden mensen om de markten en tuinen te bekijken.",
        "'s Avonds spelen de kinderen voor de kerk.",
        "Niemand weet hoelang de brug daar al staat.",
        "Wie langer blijft, leert de namen van alle straten.",
    ),
    "it": (
        "La città vecchia si trova sulla riva del fiume.",
        "Ogni anno vengono migliaia di persone a vedere i suoi mercati e i giardini.",
        "La sera i bambini giocano davanti alla chiesa.",
        "Nessuno sa da quanto tempo il ponte sia lì.",
        "Chi rimane più a lungo impara i nomi di tutte le strade.",
    ),
    "pt": (
        "A cidade velha fica na margem do rio.",
        "Todos os anos vêm milhares de pessoas para ver os seus mercados e jardins.",
        "À noite as crianças brincam em frente da igreja.",
        "Ninguém sabe há quanto tempo a ponte está ali.",
        "Quem fica mais tempo aprende os nomes de todas as ruas.",
    ),
    "sv": (
        "Den gamla staden ligger vid flodens strand.",
        "Varje år kommer tusentals människor för att se dess marknader och trädgårdar.",
        "På kvällen leker barnen framför kyrkan.",
        "Ingen vet hur länge bron har stått där.",
        "Den som stannar längre lär sig namnen på alla gator.",
    ),
}


def speech(lang: str, seed: int, size: int) -> bytes:
    """About `size` bytes of paragraphs in a language, never more; the same for the same seed."""
    known = SENTENCES[lang]
    parts: list[bytes] = []
    room = size
    while room > 0:
        number = len(parts)
        said = (known[draw(seed, number, k) % len(known)] for k in range(4))
        parts.append(f"<p>{' '.join(said)}</p>\n".encode())
        room -= len(parts[-1])
    return b"".join(parts[:-1])
