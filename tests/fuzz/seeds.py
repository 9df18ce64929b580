"""Inputs to begin with, one or more for every construct that a target knows; the fuzzer finds the
rest. Written as a target reads them, without the first byte that says how they are used."""

from __future__ import annotations

import gzip
import zlib

import brotli
import zstandard

from lycosa.frontier.log.domain_log import DomainLog, Limits, LogChanges, delivery
from lycosa.frontier.log.twin import TwinIndex
from lycosa.records import Url
from lycosa.urls.fingerprint import fingerprint

PLAIN, STRETCHED = b"\0", b"\xff"

_PAGE = (
    b"<!DOCTYPE html><html lang=en xml:lang='de'><head><title>A &amp; B &copy; &notit; &#x41;</title>"
    b"<base href='/x/'><meta name=robots content='noindex, nofollow'><link rel=canonical href=/c>"
    b"<meta http-equiv=refresh content='0; url=/r'><style>p{}</style><script>if (a<b) '</p>'</script>"
    b"<body><!-- c --><!--> <!---> <!--a--!><p>one&nbsp;two &lt;&#60;&#x3c;&#0;&#x80;&#xD800;&#9;&#1;"
    b"&#233;&#8364;&#x1F600;&#99999999;&#x;&#;&x;&nosuch;&notin;&not &AMP &frac12;&NotEqualTilde;"
    b"<a href=/a>a</a><a href='b?c=d&amp;e' rel=nofollow>b</a><a HREF=\"//h.test/\" rel='x'>c</a>"
    b"<a>no</a><a href=e href=f><a  / href = g ><img alt='>'/><area href=/i><frame src=/f>"
    b"<iframe src=/j>hid</iframe><svg><title>no</title><style/>x</svg><svg/><select><option>o"
    b"</select><video><noscript>n</noscript></video><template><a href=/t>t</a><meta name=x content=y>"
    b"</template><textarea><a></textarea><xmp><b></xmp><object><object></object>z</object>"
    b"<unknowntagname12345>u</unknowntagname12345><?php ?><![CDATA[x]]></ x></><//><3 < </b"
)
_TAILS = (
    b"<", b"</", b"<a", b"<a ", b"<a href", b"<a href=", b"<a href='x", b'<a href="', b"<!--", b"<!",
    b"<title>t", b"<script>s", b"<svg>s", b"<a href=x", b"<p x='", b"<meta content=", b"</p", b"<p /",
    b"<a b=c", b"<p a=b", b"&", b"&a", b"&#", b"&#x", b"\xc2", b"\xc2\xa0x", b"\xc2\xa9", b"\x1e|",
    b"\0x", b"\xff\xfe", b"a<title>" + b"t" * 9000, b"<a href='" + b"x" * 9000 + b"'>",
    b"<a href=x rel='" + b"r" * 9000 + b"'>", b"<p>" * 20 + b"<a href=q>", b"<b>" * 300,
    b"<svg><svg></svg>x</svg>y", b"<svg/>x", b"<style/>x</style>", b"<link rel=next href=&gt;>",
    b"<p a='>' b=\">\" c = d e>x", b"<p a=b'c>x", b"<video>1<audio>2<canvas>3<object>4<datalist>5"
    b"<noscript>6<svg>7<select>8<template>9", b"<meta a='" + b"x" * 9000 + b"' name=n>",
)  # fmt: skip
# Elements inside each other: what is not HTML and what is again, formatting that is cut through.
_TREES = (
    b"<svg><foreignObject><p>a<a href=/b>c</p></foreignObject>d</svg>e", b"<svg><desc><a href=/x>y</desc>",
    b"<svg><title><b>x</title>y</svg>z", b"<math><mi>x<p>y</mi>z</math>", b"<math><mtext><mglyph><a href=/m>n",
    b"<math><annotation-xml encoding='text/html'><p>x<a href=/y>z</annotation-xml></math>w",
    b"<math><annotation-xml encoding=application/XHTML+xml><p>x</annotation-xml>", b"<math><annotation-xml>x<p>y",
    b"<math><annotation-xml encoding=text/plain><p>x", b"<math><annotation-xml encoding='" + b"e" * 300 + b"'><p>x",
    b"<math><annotation-xml><svg><p>x", b"<math><mo><svg><desc>x</mo>y", b"<svg><font color=red>x", b"<svg><font>x</font>y",
    b"<svg><font face=a>x", b"<svg><font size=1>x", b"<svg><p>out</svg>x", b"<svg></p>x</svg>y", b"<svg></br>x", b"<math><b>x",
    b"<svg><a href=/q>r</a></svg>", b"<svg><a xlink:href=/q>r</a></svg>", b"<svg><![CDATA[a<b]]>c</svg>d", b"<svg><![CDATA[a",
    b"<svg><style><p></style>x</svg>", b"<svg><script>a<b</script>x</svg>y", b"<svg><g><g/></G>x</SVG>y", b"<math/>x<svg/>y",
    b"<svg><select><option>x", b"<svg><table><tr><td>x", b"<svg><desc><svg><desc>x</svg>y</desc>z</svg>w", b"</svg></math>x",
    b"<svg>" * 300 + b"x", b"<svg><desc>" * 300 + b"<a href=/d>x", b"<math><mi>" * 300 + b"</mi>" * 100 + b"x",
    b"<b><i><p>x</b>y</i>z", b"<a href=/1>1<a href=/2>2", b"<p><b><div></b>x", b"<nobr>1<nobr>2", b"<button>1<button>2",
    b"<b>" * 20 + b"<p>" * 5 + b"</b>" * 30 + b"x", b"<a href=/1><table><a href=/2>x", b"<font><p></font><p>x", b"<a><b></a>x",
    b"<table><tr><td>1<td>2<tr>3<a href=/t>x</table>y", b"<table>x<caption>c<b></table>d", b"<table><colgroup><col>x<tbody>",
    b"<select><option>1<optgroup><option>2<hr><input>x", b"<select><a href=/s>t</select>u", b"<select><svg>x</select>y",
    b"<ul><li>1<li>2<ul><li>3</ul><li>4</ul>", b"<dl><dt>1<dd>2<dt>3</dl>", b"<h1>1<h2>2</h1>3", b"<form><form>x</form>y",
    b"<applet><b></applet>x<marquee><i></marquee>y", b"<ruby>a<rt>b<rp>c</ruby>", b"<frameset><frame src=/x></frameset>",
    b"<plaintext></p>x", b"<template><template>a</template>b</template>c", b"<object><b></object>x", b"<p><table></p>x",
    b"<a href=/1><svg></a>x", b"<a href=/1><svg><desc></a>x</svg>y", b"<b><svg></b>x</svg>y", b"<p><svg><desc><p></svg>x",
)  # fmt: skip
# What is seen of a page, and how: attributes, rows, text that keeps its lines, characters without width.
_SEEN = (
    b"a<p hidden>b<p>c", b"<p id='x'hidden>a</p>b<p HIDDEN=1>c</p>d<p a hidden b=c>e</p>f<i popover>g</i>h",
    b"<b style='display:none'>a</b>b<p style='DISPLAY : inline ; '>c</p><b style=display:block>d</b>e",
    b"<p style='/* ; */x:url(a;b);y:\";\";z:{;};display:none!important;display:block'>a</p>b", b"<p style='display:", b"<p style=\"/*",
    b"<p style='" + b"x" * 9000 + b"'>a", b"<p style='" + b"float:left;" * 900 + b"'>a", b"<i style='visibility:hidden'>a<b style='visibility:visible'>b</b>c</i>d",
    b"<div style=display:flex><b>a</b><i>b</i><img>c<math><mi>d</math></div>e", b"<div style=display:inline-grid><b>a<b>b</div>",
    b"<div style=display:table><p style=display:table-row><b style=display:table-cell>a</b><b style=display:table-cell>b</b></p></div>c",
    b"<dialog>a</dialog>b<dialog open>c</dialog>d", b"<i><template shadowrootmode=open>a<a href=/b>c</template>d</i><template shadowrootmode=x>e</template>f",
    b"<table><tr><td>a<td><td>b<tr><td><p>c<td><p>d<p>e<td>f<tr hidden><td>g<tr><td hidden>h<td style=display:block>i</table>j",
    b"<table><tr>x<td>a<td><table><tr><td>b<td>c</table><td>d</table>e", b"<td>a<tr>b<table><td>" * 9, b"<table>" + b"<td>" * 300 + b"x",
    b"x<pre>\n\n  a\r\n\tb \n\n\n <b> c\n</b>d&#10;&Tab;&#13;e\x0c \n</pre>y", b"<pre>a<p style=white-space:normal> b  \n c</p> d</pre>", b"<pre>" + b"\n" * 300 + b"x",
    b"<listing> a\n b</listing><xmp> <b>\n &lt;</xmp><textarea>\n &lt;b\n</textarea><textarea hidden>c</textarea><textarea> </textarea>d",
    b"<ruby>a<rp>(<rt>b<rp>)</ruby>c<math><semantics><mi>d</mi><annotation>e</annotation><annotation-xml encoding=text/html><p>f</annotation-xml></math>g",
    b"a\xc2\xa0\xc2\x85\xe2\x80\xa8b\xe2\x80\x8b\xe2\x80\x8c\xe2\x80\x8dc\xc3\xa9\xe2\x80\x8dd\xc2\xad\xef\xbb\xbf\xe1\x9a\x80e\xe1\xa0\x8e\xe2\x81\x9f\xe2\x81\xa0\xe3\x80\x80f",
    b"\xe2", b"\xe2\x80", b"\xe3\x80<p>", b"\xef\xbb", b"\xe1\xa0&zwj;&zwnj;&shy;&ThickSpace;&ZeroWidthSpace;", b"a\x01\x02\x03\x1c\x1d\x1e\x1f\x7fb",
    b"<meter>a</meter><progress>b</progress>c</p>d</br>e</div>f<button><p>g</button>h<form><div>i</form>j",
    b"<script><!--<script>a</script>b--></script>c<script><!--<script></script>d</script>e",
)  # fmt: skip
_PAGES = (_PAGE, *_TAILS, *_TREES, *_SEEN, *(_PAGE[:at] for at in range(0, len(_PAGE), 61)))

_HREFS = (
    b"/\n/a\n/a/b.html\nc\nc/d\n../e\n./f\n?q=1\n/g?h=i&j=k\n/l;m\nn;o?p\n//q.test/r\n"
    b"http://s.test/\nhttps://t.test:443/u\n/v.pdf\n/w.AppImage\n/x.tar.gz\n/./y\n/%2e/z\n/%41\n/a b\n"
    b"/\xc3\xa9\nmailto:x\njavascript:y\n#z\n\n/1/2/3/4/5/6\n/1/1/1/1/1/1\n" + b"/" + b"x" * 1990
    + b"\n/" + b"y" * 2100 + b"\na:b\n/a:b\n/a//b\n-\n_x\n~y\n/a?b/../c\n/a?/.\n/a?/%2e\nhttpx\n.a\n"
    b"/[\n/?[]|\n/a.longerthaneight\n/.\n/a/.b\n/?" + b"q" * 300
)  # fmt: skip

_HEADS = (
    b"Content-Type: text/html; charset=utf-8\r\nX-Robots-Tag: otherbot: noindex\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n",
    b"HTTP/1.0 301 M\r\nLocation: /x\r\n\r\nTrailer: y\r\n\r\n",
    b"HTTP/1.1 200\nContent-Encoding: gzip\n\n",
    b"Content-Type: text/html, charset=utf-8\r\nContent-Type: x/y\r\n folded\r\n\r\n",
)
_ROBOTS = (
    b"User-agent: *\nDisallow: /a\nAllow: /a/b$\nDisallow: /*.pdf$\nCrawl-delay: 3\n"
    b"Sitemap: https://a.test/s.xml\n\nUser-agent: lycosa\nCrawl-delay: 9999999999\n"
    b"User-agent: other\nDisallow: /*/*/x*y*z\n# c\nDisallow:\nAllow: /%7e\xc3\xa9\n",
    b"\xef\xbb\xbfuser-agent:lycosa/1.0\rdisallow:/x\r\nnoindex: /y",
    b"\xff\xfeU\0s\0e\0r\0",
)
_SITEMAPS = (
    b"<?xml version='1.0'?><urlset><url><loc>https://a.test/x?a=1&amp;b=2</loc></url><url><loc>"
    b"<![CDATA[https://a.test/y]]></loc></url><url><loc> x </loc></url></urlset>",
    b"<sitemapindex><sitemap><loc>https://a.test/2.xml</loc></sitemap></sitemapindex>",
    b"<rss><channel><item><link>https://a.test/r</link><guid>https://a.test/g</guid></item></channel>",
    b"<feed><entry><link rel='alternate' href='https://a.test/&#x65;'/></entry></feed>",
    b"https://a.test/1\nhttps://a.test/2\r\nhttp://h:bad/\n",
)
_BODY = b"<p>Hello</p>" * 20
_BODIES = {
    0: gzip.compress(_BODY, mtime=0),
    1: zlib.compress(_BODY),
    2: brotli.compress(_BODY),
    3: zstandard.compress(_BODY),
    4: brotli.compress(gzip.compress(_BODY, mtime=0)),
    6: _BODY,
}
_ROW = b'{"url":"https://a.test/","text":"x"}\n'
_LEDGER = (
    b'["s","a.test",1800000000000]\n["d","a.test",70000]\n'
    b'["e","a.test",1800000000000,1800000001000,2,"192.0.2.1","ok"]\n["s","b.test",18'
)


def _chunks() -> list[bytes]:
    """Chunks of a domain's log: of each kind, folded, and several of one domain."""
    epoch, domain = 1_700_000_000_000, 77
    links = [
        (domain, fingerprint(url), Url(url), n % 3, "a.test", n % 16)
        for n, url in enumerate(f"https://a.test/{n}" for n in range(70))
    ]
    fps = [link[1] for link in links]
    log = DomainLog(domain, epoch, TwinIndex)
    one = delivery(domain, epoch, epoch + 500, links[:5], [(fps[1], epoch + 900, 2)], [(fps[2], 1)])
    two = log.plan(LogChanges([(fps[0], True), (fps[9], False)], links=links), epoch + 700).puts
    for seq, blob in enumerate(one + two):
        log.add(seq, blob)
    three = log.plan(
        LogChanges(dropped=fps[3:6], deferred=[(fps[7], epoch + 5, 1)]), epoch + 800
    ).puts
    four = delivery(domain, epoch, epoch + 900, reopened=links[:1], newest_stamp=log.newest_stamp)
    log.add(9, three[0])
    folded = log.plan(LogChanges(done=[(fps[8], True)]), epoch + 1000, Limits(tier=2)).puts
    parts = [
        one,
        two,
        three,
        four,
        folded,
        one + two,
        one + two + three,
        one + two + three + four,
        folded + four,
    ]
    return [b"<chunk>".join(each) for each in parts] + [b"", b"<chunk>" * 9]


SEEDS: dict[str, list[bytes]] = {
    "chunk": [bytes((how, at)) + data for data in _chunks() for how, at in ((0, 0), (3, 0), (100, 0), (50, 0), (7, 0))]
    + [bytes((5, n * 8 + 7)) + _chunks()[7] for n in range(32)],
    "scan": [bytes((3, 3, 0)) + page for page in _PAGES]
    + [bytes((limit % 4, limit // 4 % 4, at * 8 + 7)) + _PAGE for limit, at in
       [(n, 0) for n in range(16)] + [(15, n) for n in range(32)]],
    "page": [bytes((n % 256,)) + page for n, page in enumerate(_PAGES)]
    + [b"\x01iso-8859-1\n\xe9", b"\x01utf-16le\na\0b\0", b"\x01shift_jis\n\x82\xa0", b"\x03plain\ntext",
       b"\0<meta charset=x-bogus><meta charset=koi8-r>\xc1", b"\x02<!doctype html><p>x"],
    "text_hash": [bytes((n, (n * 8 + 7) % 256)) + text.encode("utf-8", "surrogateescape") for n in (0, 1, 2, 255) for text in (
        "The quick brown fox, THE QUICK 1234", "Größe ÄÖÜ × ÷ ß", "Съешь ещё ЭТИХ мягких", "ΑΒΓ αβγ", "日本語のページ。東京都",
        "สวัสดีชาวโลก ខ្មែរ", "한국어 문장", "x" * 300, "a b c d e f g", "word " * 300, "\x80\udcff", "😀 emoji🎉",
        " ".join(f"word{n}" for n in range(400)), "𠀀𠀁 ｱｲｳ ＡＢＣ", "々〇〆", "")],
    "links": [bytes((n, 1 << n % 8, m)) + _HREFS for n in range(4) for m in range(8)]
    + [bytes((n, 255, m * 8 + 7)) + _HREFS[:200] for n in range(2) for m in range(32)]
    + [bytes((0, size, 0)) + b"/a" for size in range(5)],
    "url": [*_HREFS.split(b"\n"), b"https://user:pw@EXAMPLE.com:443/a/../b?c#d\n/x", b"http://[::1]:80/", b"http://0x7f.1/",
       b"https://xn--bcher-kva.test/\nq", b"https://b\xc3\xbccher.test/", b"http://a..b/",
       b"https://" + b"a." * 100 + b"test/"],
    "inbox": [bytes((9, *range(1, 200))), bytes(255 - n for n in range(200)), bytes((7,)) * 90,
              bytes((1, 2, 3, 4)) * 30, bytes((15, 6, 14, 7, 15, 22, 255)) * 12,
              bytes((255, 3, 66, 1, 0, 9, 21, 2, 2, 6, 200, 14, 250, 22, 250, 0, 0)) * 6,
              bytes((15, 3, 3, 3, 3, 3, 3, 3)) + bytes((22, 255, 22, 255, 14, 3, 6, 9, 0, 0)) * 8,
              bytes((0, 2, 2, 2, 2, 2, 2, 2)) + bytes((6, 50, 22, 255, 6, 3, 11, 255, 0, 0)) * 8,
              bytes((23, 5, 5, 5, 5, 66, 66, 66)) + bytes((2, 0, 6, 1, 2, 0, 6, 1)) * 4],
    "head": list(_HEADS),
    "retry": [b"120", b"Wed, 21 Oct 2099 07:28:00 GMT", b"-1", b"1e9", b"9" * 30, b"soon", b""],
    "whole": [b"\0" + head + page for head in _HEADS for page in (_PAGE, b"", b"x")]
    + [b"\x03Content-Type: application/xml\r\n\r\n" + each for each in _SITEMAPS]
    + [b"\0Content-Encoding: " + name + b"\r\nContent-Type: text/html\r\n\r\n" + _BODIES[n]
       for n, name in enumerate((b"gzip", b"deflate", b"br", b"zstd", b"gzip, br"))],
    "robots": list(_ROBOTS),
    "sitemap": [*_SITEMAPS, *(each[:60] for each in _SITEMAPS)],
    "charset": [b"text/html; charset=" + name + b"\n\xe9\x82\xa0<meta charset=utf-8>abc" for name in (
        b"utf-8", b"'latin1'", b"shift_jis", b"utf-16", b"x-user-defined", b"windows-1252", b"gb18030",
        b"big5", b"euc-kr", b"iso-2022-jp", b"replacement", b"nonsense", b"")],
    "language": [tag + b"\n" + text.encode(codec, "surrogatepass") for tag, text in (
        (b"de", "Die alte Stadt liegt am Ufer des Flusses, und viele besuchen ihre Märkte. " * 9),
        (b"zh-TW", "古老的城市坐落在河岸邊，每年有人來到這裡。Debian GNU/Linux " * 9), (b"sq", "kopshtet e tij " * 40),
        (b"", "Старый город лежит на берегу реки. The old town lies on the river. " * 9), (b"x-y", "\ud800a " * 99),
        (b"he", "\u05d0\u0627\u0e01\u0915 1 \U0001f600" * 60)) for codec in ("utf-8", "utf-16")],
    "decode": [bytes((kind,)) + body for kind, body in _BODIES.items()]
    + [bytes((kind,)) + body[:-5] for kind, body in _BODIES.items()]
    + [bytes((kind,)) + body + b"rest" for kind, body in _BODIES.items()]
    + [b"\x07gzip;q=1\n" + _BODIES[0], b"\x00" + _BODIES[0] * 3],
    "seed": [b"a.test\n1,b.test\nhttps://c.test/d e\n# x\n\xef\xbb\xbfd.test\n\"e\",f\nf.test:8080\n::1\n"],
    "exclude": [b"a.test\n.test\n*.b.test\nhttps://c.test/x*\n/re/\n# c\nco.uk\n"],
    "ledger": [_LEDGER, b"8\n[]\n", b'["e","a",1]\n[1]\n', b"{}\n" + _LEDGER],
    "segment": [zstandard.compress(_ROW * 3), zstandard.compress(b"no json\n"), b"\x28\xb5\x2f\xfd"],
}  # fmt: skip


def inputs(target: str) -> list[bytes]:
    """Each as it is, and one in four stretched at several places."""
    found = [PLAIN + each for each in SEEDS[target]]
    for number, each in enumerate(SEEDS[target][::4]):
        places = range(0, 256, 37)
        found += [STRETCHED + bytes((where, number % 8)) + each[:4000] for where in places]
    return found
