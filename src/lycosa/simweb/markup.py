"""What the body of a simulated page looks like: markup, text and scripts as on the real web.

An ordinary page is mostly not text. Of its bytes a quarter is text, a third inline scripts and
styles, the rest tags with their attributes: about one element for 100 bytes. A parser that is
measured on bare prose looks slower at text and faster at tags than it is. Words are drawn as often
as they are met in English, because languages are told by the small ones. The body has no links:
`pages` puts them before it.
"""

from __future__ import annotations

from lycosa.simweb.chance import draw

_VOCABULARY = (
    "the of and to in is that for it as was with be by on not he his but at are this have from or "
    "had an they which one you were her all she there would their we him been has when who will "
    "more no if out so said what up its about into than them can only other new some could time "
    "these two may then do first any my now such like our over man me even most made after also "
    "did many before must through years where much your way well down should because each just "
    "those people how too little state good very make world still own see men work long get here "
    "between both life being under never day same another know while last might us great old year "
    "off come since against go came right used take three river garden bread harbour winter letter "
    "mountain market engine bridge music paper window school forest island village copper weather "
    "history kitchen morning silver teacher doctor station library picture question answer summer "
    "council museum railway factory journey language measure pattern quarter surface theatre value"
)
_WORDS = _VOCABULARY.split()  # roughly the most frequent first

CLASSES = ("text", "lead", "note", "aside", "box wide", "entry", "col-6 col-md-4", "card body")
_SCRIPT_SHARE = 3  # one byte of three is script or style


def _word(chance: int) -> str:
    """A word by chance, small words as often as texts have them: the square of a random number
    makes the first quarter of the list half of what is drawn."""
    even = (chance & 0xFFFF) / 0x10000
    return _WORDS[int(even * even * len(_WORDS))]


def _words(seed: int, number: int, count: int) -> str:
    return " ".join(_word(draw(seed, number, 100 + k)) for k in range(count))


def _sentences(seed: int, number: int, count: int) -> str:
    parts = []
    for k in range(count):
        at = number * 16 + k
        parts.append(_words(seed, at, 6 + draw(seed, at, 11) % 14).capitalize() + ".")
    return " ".join(parts)


def _class(seed: int, number: int) -> str:
    return CLASSES[draw(seed, number, 6) % len(CLASSES)]


def _paragraph(seed: int, number: int) -> str:
    text = _sentences(seed, number, 2 + draw(seed, number, 5) % 4)
    middle = text.find(" ", len(text) // 2)
    return (
        f'<div class="{_class(seed, number)} section__body" id="s{number}">'
        f'<p class="body-copy">{text[:middle]} <em>{_words(seed, number, 2)}</em>'
        f"{text[middle:]}</p></div>\n"
    )


def _card(seed: int, number: int) -> str:
    title = _words(seed, number, 4)
    return (
        f'<article class="{_class(seed, number)} teaser" data-id="{number}" data-position="main" '
        f'data-track="{{&quot;module&quot;:&quot;teaser&quot;,&quot;item&quot;:{number}}}">'
        f'<figure class="teaser__figure"><img class="lazy" src="/media/{number}/small.jpg" '
        f'srcset="/media/{number}/small.jpg 320w, /media/{number}/medium.jpg 640w, '
        f'/media/{number}/large.jpg 1280w" sizes="(min-width: 62em) 33vw, 100vw" '
        f'alt="{title}" width="320" height="180" loading="lazy" decoding="async"></figure>\n'
        f'<div class="teaser__body"><h3 class="teaser__title"><span>{title}</span></h3>'
        f'<p>{_sentences(seed, number, 1)}</p><span class="meta">'
        f'<time datetime="2026-0{1 + number % 9}-11">{number % 28 + 1} days ago</time> &middot; '
        f'<i class="icon icon-comment" aria-hidden="true"></i> {number % 70}</span>'
        "</div></article>\n"
    )


def _table(seed: int, number: int) -> str:
    rows = "".join(
        f'<tr><td class="name">{_words(seed, number * 8 + k, 2)}</td>'
        f'<td class="value">{draw(seed, number, k) % 1000}</td></tr>'
        for k in range(2)
    )
    return f'<table class="data"><tbody>{rows}</tbody></table>\n'


def _heading(seed: int, number: int) -> str:
    text = _words(seed, number, 5).capitalize()
    return f'<h2 class="section__title" id="h{number}">{text}</h2>\n'


def _script(seed: int, number: int) -> str:
    key = _words(seed, number, 3).replace(" ", "_")
    state = ",".join(
        f'{{"id":{number * 20 + k},"slug":"{_words(seed, number * 20 + k, 2).replace(" ", "-")}",'
        f'"visible":{str(k % 3 == 0).lower()},"score":{draw(seed, number, k) % 997}}}'
        for k in range(18)
    )
    return (
        f"<script>window.{key}=window.{key}||[];(function(q,a){{if(a.length<1&&!q)return;"
        f"for(var i=0;i<a.length;i++)q.push(a[i]);}})(window.{key},[{state}]);</script>\n"
    )


def _style(seed: int, number: int) -> str:
    rules = "".join(
        f".{_words(seed, number * 30 + k, 1)}-{k}{{margin:{k}px 0 {k + 4}px;color:#3{k % 10}4a5b}}"
        for k in range(24)
    )
    return f"<style>{rules}</style>\n"


_BLOCKS = (_paragraph, _card, _card, _heading, _paragraph, _card, _table)


def body(seed: int, size: int) -> bytes:
    """About `size` bytes of HTML, never more; the same for the same seed."""
    parts: list[str] = []
    length = scripts = 0
    while True:
        number = len(parts)
        if scripts * _SCRIPT_SHARE < length:
            part = (_style if number % 5 == 1 else _script)(seed, number)
            scripts += len(part)
        else:
            part = _BLOCKS[number % len(_BLOCKS)](seed, number)
        length += len(part)
        if length > size:
            break
        parts.append(part)
    # The room that is left is too small for a block.
    room = size - sum(map(len, parts)) - len("<p></p>\n")
    if room > 0:
        parts.append(f"<p>{_sentences(seed, len(parts), 99)[:room]}</p>\n")
    return "".join(parts).encode()
