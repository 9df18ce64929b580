"""Minimal pages by name, each with the text that is seen of it.

`CASES` read as a browser's `innerText` does, line by line; `EXCEPTIONS` differ from it on purpose,
each for a reason. `test_visible` holds both readers to the text, `test_visible_chromium` holds the
text to Chromium.
"""

from __future__ import annotations

IN_LINE = """
a abbr acronym applet b bdi bdo big blink button cite code custom-element data del dfn em font i
ins kbd label map mark marquee nobr output q rb rtc ruby s samp slot small span strike strong sub
sup time tt u unknown var x-y
"""
BLOCKS = """
address article aside blockquote center dd dir div dl dt fieldset figcaption figure footer form h1
h2 h3 h4 h5 h6 header hgroup legend li listing main menu nav ol optgroup option p pre search section
summary ul xmp
"""
HIDDEN = """
audio datalist dialog iframe meter noembed noframes progress rp script style template title video
"""
VOIDS = """
area base basefont bgsound col embed image img input keygen link meta param source track wbr
"""
IGNORED = "body caption colgroup head html tbody td tfoot th thead tr"
CLOSING = "div span td h1 li form pre x-y body html button"

ELEMENTS = {
    **{f"<{name}> is in its line": (f"a<{name}>b</{name}>c", "abc") for name in IN_LINE.split()},
    **{f"<{name}> is a block": (f"a<{name}>b</{name}>c", "a\nb\nc") for name in BLOCKS.split()},
    "<details open> is a block": ("a<details open>b</details>c", "a\nb\nc"),
    "<dialog open> is a block": ("a<dialog open>b</dialog>c", "a\nb\nc"),
    **{f"<{name}> is hidden": (f"a<{name}>b</{name}>c", "ac") for name in HIDDEN.split()},
    **{f"<{name}> breaks nothing": (f"a<{name}>b", "ab") for name in VOIDS.split()},
    **{f"<{name}> breaks a line": (f"a<{name}>b", "a\nb") for name in ("br", "hr")},
    **{f"<{name}> out of place is ignored": (f"a<{name}>b", "ab") for name in IGNORED.split()},
    **{
        f"</{name}> that closes nothing": (f"a</{name}>b", "ab")
        for name in (
            "div",
            "span",
            "td",
            "h1",
            "li",
            "form",
            "pre",
            "x-y",
            "body",
            "html",
            "button",
        )
    },
    "</p> that closes nothing": ("a</p>b", "a\nb"),
    "</br> is a <br>": ("a</br>b", "a\nb"),
    "a block in a button": ("a<button><p>b</button>c", "a\nb\nc"),
    "a block in a link": ("a<a href=x><div>b</div></a>c", "a\nb\nc"),
    "a block that its parent closes": ("<x-y>a<div>b</x-y>c</div>d", "a\nbc\nd"),
    "a form that is closed in a block": ("a<form><div>b</form>c", "a\nbc"),
    "a sentence with controls": (
        "Press <button>OK</button>, type <input value=no> or <x-key>Esc</x-key>.",
        "Press OK, type or Esc.",
    ),
    "no alternative texts": ("a<img alt=no>b<input value=no placeholder=no title=no>c", "abc"),
    "list items": ("<ol><li>a<li>b<ul><li>c</ul></ol>", "a\nb\nc"),
    "definitions": ("<dl><dt>a<dd>b<dt>c</dl>", "a\nb\nc"),
    "a comment": ("a<!-- no -->b", "ab"),
}

ATTRIBUTES = {
    "hidden": ("a<p hidden>b</p>c", "ac"),
    "hidden, with a value": ("a<p hidden=false>b</p>c", "ac"),
    "hidden, in capitals": ("a<p HIDDEN>b</p>c", "ac"),
    "hidden, among others": ("a<p id=x hidden class=y>b</p>c", "ac"),
    "hidden, behind a quote": ("a<p id='x'hidden>b</p>c", "ac"),
    "hidden, before '/'": ("a<p hidden/>b</p>c", "ac"),
    "hidden, at the end of many": ("a<p data-a=1 data-b='2' data-c hidden>b</p>c", "ac"),
    "hidden until found": ("a<p hidden=until-found>b</p>c", "ac"),
    "hidden in its line": ("a<span hidden>b</span>c", "ac"),
    "hidden link": ("a<a href=x hidden>b</a>c", "ac"),
    "hidden button": ("a<button hidden>b</button>c", "ac"),
    "hidden textarea": ("a<textarea hidden>b</textarea>c", "ac"),
    "hidden break": ("a<br hidden>b", "ab"),
    "hidden paragraph that the next closes": ("<p hidden>a<p>b", "b"),
    "hidden block with blocks": ("a<div hidden><p>b<div>c</div></div>d", "ad"),
    "hidden list item": ("<ul><li>a<li hidden>b<li>c</ul>", "a\nc"),
    "hidden formula": ("a<math hidden style='display:none'><mi>b</mi></math>c", "ac"),
    "hidden is no value": ("a<p title=hidden>b</p>c", "a\nb\nc"),
    "hidden is no part of a name": ("a<p data-hidden aria-hidden=true>b</p>c", "a\nb\nc"),
    "popover": ("a<p popover>b</p>c", "ac"),
    "popover, with a value": ("a<p popover=manual>b</p>c", "ac"),
    "closed dialog": ("a<dialog><p>b</p></dialog>c", "ac"),
    "open dialog that is hidden": ("a<dialog open hidden>b</dialog>c", "ac"),
    "inert": ("a<div inert>b</div>c", "a\nb\nc"),
}

STYLES = {
    "display:none": ("none", "ac"),
    "display:none in capitals": ("DISPLAY : NONE", "ac"),
    "display:none, then block": ("display:none;display:block", "a\nb\nc"),
    "display:none, important": ("display:none!important;display:block", "ac"),
    "display:none, important with spaces": ("display: none ! important; display: block", "ac"),
    "display:none, then nonsense": ("display:none;display:bogus", "ac"),
    "display:none with a comment": ("display:/*x*/none", "ac"),
    "display:none behind a comment": ("/* ; */display:none", "ac"),
    "display:none behind nonsense": ("color red;;display:none", "ac"),
    "display:none behind a string": ("quotes:';' ';';display:none", "ac"),
    "display:none behind a URL": ("background:url(data:x;y);display:none", "ac"),
    "display:none on lines of its own": ("\n  color: red;\n  display: none;\n", "ac"),
    "display:none in brackets": ("background:url(a;display:none)", "a\nb\nc"),
    "display:none in braces": ("x:{;display:none}", "a\nb\nc"),
    "display:none and more": ("display:none x", "a\nb\nc"),
    "display:none in a longer name": ("-x-display:none", "a\nb\nc"),
    "display:none commented out": ("/*display:none*/", "a\nb\nc"),
    "display:inline": ("display:inline", "abc"),
    "display:inline-block": ("display:inline-block", "abc"),
    "display:inline-flex": ("display:inline-flex", "abc"),
    "display:inline-table": ("display:inline-table", "abc"),
    "display:contents": ("display:contents", "abc"),
    "display:initial": ("display:initial", "abc"),
    "display:flex": ("display:flex", "a\nb\nc"),
    "display:table": ("display:table", "a\nb\nc"),
    "display:list-item": ("display:list-item", "a\nb\nc"),
    "visibility:hidden": ("visibility:hidden", "ac"),
    "visibility:collapse": ("visibility:collapse", "ac"),
    "content-visibility:hidden": ("content-visibility:hidden", "ac"),
    "opacity:0": ("opacity:0", "a\nb\nc"),
    "no height": ("height:0;overflow:hidden", "a\nb\nc"),
    "off the screen": ("position:absolute;left:-9999px", "a\nb\nc"),
    "inline, but it floats": ("display:inline;float:right", "a\nb\nc"),
}
STYLED = {
    **{
        f"{name} on a div": (
            f'a<div style="{"display:none" if style == "none" else style}">b</div>c',
            text,
        )
        for name, (style, text) in STYLES.items()
    },
    **{
        f"{style} on a span": (f"a<span style='{style}'>b</span>c", "a\nb\nc")
        for style in (
            *(
                "display:block",
                "display:flex",
                "display:grid",
                "display:table",
                "display:list-item",
            ),
            *("display:flow-root", "float:left", "float:right", "position:absolute"),
            *("position:fixed", "display:-webkit-box"),
        )
    },
    **{
        f"{style} on a span, which stays": (f"a<span style='{style}'>b</span>c", "abc")
        for style in ("float:none", "position:relative", "display:inline", "color:red", "", ";;")
    },
    "style without quotes": ("a<p style=display:none>b</p>c", "ac"),
    "style in capitals": ("a<p STYLE=display:none>b</p>c", "ac"),
    "style, of which the first counts": ("a<p style=color:red style=display:none>b", "a\nb"),
    "style behind a quote": ("a<p id='x'style='display:none'>b</p>c", "ac"),
    "style behind '/'": ("a<p/style=display:none>b</p>c", "ac"),
    "style that is another name": ("a<p data-style=display:none>b", "a\nb"),
    "style of an image": ("a<img style=display:block>b", "a\nb"),
    "style of a break": ("a<br style=display:none>b", "ab"),
    "style of a link": ("a<a href=x style='display:none'>b</a>c", "ac"),
    "style of a link, block": ("a<a href=x style='display:block'>b</a>c", "a\nb\nc"),
    "style of an input": ("a<input style=display:block>b", "a\nb"),
    "display:flex, and what is in it": (
        "<div style=display:flex><span>a</span><b>b</b>c</div>",
        "a\nb\nc",
    ),
    "display:grid, and what is in it": ("<div style=display:grid><b>a</b><i>b</i></div>", "a\nb"),
    "display:flex, but not deeper": (
        "<div style=display:flex><p>a<b>b</b><i>c</i></p></div>",
        "abc",
    ),
    "display:flex with an image": ("<div style=display:flex>a<img>b</div>", "a\nb"),
    "visible in what is not": (
        "a<p style='visibility:hidden'>b<span style='visibility:visible'>c</span></p>d",
        "acd",
    ),
    "a visible block in what is not": (
        "a<div style='visibility:hidden'>b<p style='visibility:visible'>c</p>d</div>e",
        "a\nc\ne",
    ),
    "not visible, with blocks": ("a<div style='visibility:hidden'><p>b</p><br>c</div>d", "ad"),
    "not visible, with spaces": ("a<i style='visibility:hidden'> b </i>c", "ac"),
    "a table of styles": (
        "<div style=display:table><div style=display:table-row><i style=display:table-cell>a</i>"
        "<i style=display:table-cell>b</i></div><div style=display:table-row>c</div></div>",
        "a\tb\nc",
    ),
}

TABLES = {
    "rows and cells": ("<table><tr><td>a<td>b<tr><td>c<td>d</table>", "a\tb\nc\td"),
    "head and body": (
        "<table><caption>x</caption><thead><tr><th>a<th>b<tbody><tr><td>c<td>d</table>",
        "x\na\tb\nc\td",
    ),
    "row without <tr>": ("<table><td>a<td>b</table>", "a\tb"),
    "spaces around cells": (
        "<table> <tr> <td> a </td> <td> b </td> </tr> </table>",
        "a\tb",
    ),
    "empty cells": ("<table><tr><td>a<td><td>b<tr><td><td>c</table>", "a\t\tb\n\tc"),
    "empty cells at the end": ("<table><tr><td>a<td><td><tr><td>b</table>", "a\nb"),
    "hidden cells": ("<table><tr><td>a<td hidden>b<td>c</table>", "a\tc"),
    "hidden cell without style": (
        "<table><tr><td>a<td style='display:none'>b<td>c</table>",
        "a\tc",
    ),
    "hidden rows": ("<table><tr><td>a<tr hidden><td>b<td>c<tr><td>d</table>", "a\nd"),
    "a hidden table": ("a<table hidden><tr><td>b<td>c</table>d", "ad"),
    "formatting in cells": ("<table><tr><td><b>a</b> x<td><i>b</i></table>", "a x\tb"),
    "text beside a table": ("a<table><tr><td>b</table>c", "a\nb\nc"),
    "a cell with a list": ("<table><tr><td><ul><li>a<li>b</ul></table>", "a\nb"),
    "a cell with lines": ("<table><tr><td>a<br>b</table>c", "a\nb\nc"),
    "columns": ("<table><colgroup><col><col></colgroup><tr><td>a<td>b</table>", "a\tb"),
    "spanned cells": ("<table><tr><td colspan=2>a<td>b</table>", "a\tb"),
    "a cell that is a block": (
        "<table><tr><td>a<td style='display:block'>b</table>",
        "a\nb",
    ),
    "a script between rows": ("<table><tr><td>a</tr><script>b</script><tr><td>c</table>", "a\nc"),
    "a table in a cell": (
        "<table><tr><td>a<td><table><tr><td>x<td>y</table><td>z</table>",
        "a\nx\ty\nz",
    ),
    "text that a table may not hold": ("<table>a<tr><td>b</table>", "a\nb"),
}

KEPT = {
    "<pre> keeps lines": ("<pre>a\nb</pre>", "a\nb"),
    "<pre> keeps indentation": ("<pre>  a\n    b\n\tc</pre>", "  a\n    b\n\tc"),
    "<pre> keeps spaces": ("<pre>a   b\t\tc</pre>", "a   b\t\tc"),
    "<pre> keeps empty lines": ("<pre>a\n\n\nb</pre>", "a\n\n\nb"),
    "<pre> loses empty lines around it": ("x<pre>\n\na\n\n</pre>y", "x\na\ny"),
    "<pre> with tags": ("<pre><b>a</b>  <i>\n  b</i>\n</pre>", "a\n  b"),
    "<pre> with highlighted code": (
        "<pre><span>def</span> <span>f</span>():\n    <span>return</span> 1\n</pre>",
        "def f():\n    return 1",
    ),
    "<pre> with a break": ("<pre>a<br>  b</pre>", "a\n  b"),
    "<pre> with line ends of Windows": ("<pre>a\r\n  b\r\n</pre>", "a\n  b"),
    "<pre> with references": ("<pre>a&#10;&#32; b&nbsp; c</pre>", "a\n  b  c"),
    "<pre> with a block": ("<pre>a<div> b\n c</div></pre>d", "a\n b\n c\nd"),
    "<pre> is hidden": ("a<pre hidden>b\nc</pre>d", "ad"),
    "<pre> between lines": ("<p>a</p><pre> b</pre><p>c</p>", "a\n b\nc"),
    "<listing>": ("a<listing> b\n  c</listing>d", "a\n b\n  c\nd"),
    "<xmp> shows tags": ("a<xmp> <b>x</b>\n &amp;</xmp>b", "a\n <b>x</b>\n &amp;\nb"),
    "<plaintext> shows all": ("a<plaintext> <b>x</b>\n </plaintext>", "a\n <b>x</b>\n </plaintext>"),
    "white-space:pre": ("<span style=white-space:pre>a  b\n c</span>", "a  b\n c"),
    "white-space:pre-wrap": ("<div style=white-space:pre-wrap>a\n  b</div>c", "a\n  b\nc"),
    "white-space:normal in <pre>": (
        "<pre>a<span style=white-space:normal> b   c\n d</span></pre>",
        "a b c d",
    ),
    "white-space:nowrap": ("<p style=white-space:nowrap>a\n  b", "a b"),
}  # fmt: skip

SPACES = {
    "white space is folded": ("<p> a \n\t b </p>", "a b"),
    "white space across tags": ("<p>a <span> b</span> <b> c</b></p>", "a b c"),
    "no space where none is": ("a<b>b</b>c", "abc"),
    "no-break spaces": ("a&nbsp;&nbsp;b\xa0c", "a b c"),
    **{
        f"U+{code:04X} is a space": (f"<p>a&#{code};b{chr(code)} c", "a b c")
        for code in (0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000)
    },
    "U+0085 is no line end": ("<p>a\x85b", "a b"),
    "U+2028 is no line end": ("<p>a\u2028b", "a b"),
    "U+2029 is no line end": ("<p>a\u2029b", "a b"),
    **{
        f"U+{code:04X} is left out": (f"<p>a&#{code};b{chr(code)}c", "abc")
        for code in (
            *(0xAD, 0x200B, 0x200C, 0x200D, 0x200E, 0x200F, 0x202A, 0x202E, 0x2060, 0x2063),
            *(0x2066, 0x2069, 0xFEFF, 0x180E),
        )
    },
    "&shy; in a word": ("hy&shy;phen&shy;ated", "hyphenated"),
    "joiners that letters need": ("\u0645\u06cc\u200c\u062e\u0648", "\u0645\u06cc\u200c\u062e\u0648"),
    "joiners in emojis": ("\U0001f468\u200d\U0001f469", "\U0001f468\u200d\U0001f469"),
    "other characters of these lines": ("a\u2019b\u2026 \u4e2d\u3002 \uff0c \u1ea1 \xa9", None),
}  # fmt: skip

RAW = {
    "<noscript>": ("a<noscript>b</noscript>c", "abc"),
    "<noscript> with blocks": ("a<noscript><p>b</p><div hidden>c</div></noscript>d", "a\nb\nd"),
    "<noscript> in what is hidden": ("a<div hidden><noscript>b</noscript></div>c", "ac"),
    "<noscript> in <pre>": ("<pre>a<noscript>  b\n c</noscript></pre>", "a  b\n c"),
    "a script": ("a<script>b('<p>')</script>c", "ac"),
    "a script in a comment": ("a<script><!-- b --></script>c", "ac"),
    "a double-escaped script": ("a<script><!--<script>b</script>c--></script>d", "ad"),
    "a double-escaped script, again": ("a<script><!--<script></script>b</script>c", "ac"),
    "a double-escaped script, not closed": ("a<script><!--<script>b</script>c", "a"),
    "a script in capitals": ("a<SCRIPT>b</Script >c", "ac"),
    "a style": ("a<style>b{}</style>c", "ac"),
    "a title in a body": ("a<title>b</title>c", "ac"),
    "a template": ("a<template><p>b</template>c", "ac"),
    "a template with a mode that is none": ("a<template shadowrootmode=x>b</template>c", "ac"),
    "references": ("&lt;b&gt; &amp;amp; &copy &#65; &#x42;", "<b> &amp; \xa9 A B"),
}

FORMULAS = {
    "ruby stays in its line": ("x<ruby>a<rt>b</ruby>y", "xaby"),
    "ruby without <rp>": ("<ruby>a<rp>(</rp><rt>b</rt><rp>)</rp></ruby>", "ab"),
    "ruby without end tags": ("<ruby>a<rp>(<rt>b<rp>)</ruby> c", "ab c"),
    "<annotation> out of formulas": ("a<annotation>b</annotation>c", "abc"),
}

CASES: dict[str, tuple[str, str | None]] = {
    **ELEMENTS, **ATTRIBUTES, **STYLED, **TABLES, **KEPT, **SPACES, **RAW, **FORMULAS
}  # fmt: skip

ROWS = "a row stays in one line where its cells begin with a block; innerText breaks it"
MATH = "a formula stays in its line; innerText breaks it at each symbol"
UNSEEN = "text of the page that is one click away is kept"
CHOICE = "options of a select are left out"
FALLBACK = "what only shows if something else does not work is left out"
DRAWING = "words in drawings are labels, and left out"
MOVED = "text that a table may not hold stays where it was written"
EDGE = "spaces at the edges of a button stay"
OTHER = "too rare: styles are compared as they are written"

EXCEPTIONS: dict[str, tuple[str, str, str]] = {
    "blocks in cells": ("<table><tr><td><p>a</p><td><p>b</p></table>", "a\tb", ROWS),
    "several blocks in a cell": (
        "<table><tr><td><p>a</p><td><p>b</p><p>c</p><td>d<tr><td>e</table>", "a\tb\nc\nd\ne", ROWS,
    ),
    "<pre> in a cell": ("<table><tr><td>x<td><pre>a\n b</pre></table>", "x\ta\n b", ROWS),
    "a formula": ("x <math><mi>a</mi><mo>=</mo><mn>1</mn></math> y", "x a = 1 y", MATH),
    "a formula with annotations": (
        "x <math><semantics><mi>a</mi><annotation>b</annotation><annotation-xml encoding=text/html>"
        "<p>c</p></annotation-xml></semantics></math> y", "x a y", MATH,
    ),
    "a matrix": (
        "<math><mtable><mtr><mtd>a</mtd><mtd>b</mtd></mtr><mtr><mtd>c</mtd></mtr></mtable></math>",
        "a b c", MATH,
    ),
    "a power": ("<math><msup><mi>x</mi><mn>2</mn></msup></math>", "x 2", MATH),
    "closed <details>": ("<details><summary>a</summary>b</details>", "a\nb", UNSEEN),
    "<textarea>": ("a<textarea>\n b\n&lt;c</textarea>d", "a\n b\n<c\nd", UNSEEN),
    "shadow": ("<x-y><template shadowrootmode=open>a<slot></slot></template>b</x-y>", "a b", UNSEEN),
    "closed shadow": ("<x-y><template shadowrootmode=closed>a</template></x-y>", "a", UNSEEN),
    "<select>": ("a<select><option>b<option>c</select>d", "ad", CHOICE),
    "<object>": ("a<object>b</object>c", "ac", FALLBACK),
    "<canvas>": ("a<canvas>b</canvas>c", "ac", FALLBACK),
    "<svg>": ("a<svg><text>b</text><title>c</title></svg>d", "ad", DRAWING),
    "text between cells": ("<table><tr><td>a</td>x<td>b</table>", "ax\tb", MOVED),
    "a button with spaces": ("a<button> b </button>c", "a b c", EDGE),
    "escapes in a style": ("a<p style='display:no\\6e e'>b</p>c", "a\nb\nc", OTHER),
    "references in a style": ("a<p style='display:&#110;one'>b</p>c", "a\nb\nc", OTHER),
    "a sheet in the page": ("<style>p{display:none}</style>a<p>b</p>c", "a\nb\nc", OTHER),
}  # fmt: skip
