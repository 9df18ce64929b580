"""language: which languages a text is in, what a declaration is worth, and what it costs."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from lycosa.page import language
from lycosa.page.language import (
    _CODES,
    MODELS,
    PIECE,
    PIECES,
    code_of,
    iso639_3,
    languages,
)
from support.cpu import cpu_seconds

TEXTS = {
    "ar": "تقع المدينة القديمة على ضفة النهر ويزورها كل عام آلاف الناس من بلاد بعيدة ليروا أسواقها"
    " وبيوتها وحدائقها ثم يعودون إلى بلادهم وهم يحكون عنها لأصدقائهم",
    "bg": "Старият град лежи на брега на реката и всяка година го посещават хиляди хора от далечни"
    " страни, за да видят пазарите, къщите и градините му, а после разказват за него у дома",
    "ca": "La ciutat vella és a la vora del riu i cada any la visiten milers de persones de països"
    " llunyans per veure els seus mercats, les cases i els jardins, i després ho expliquen a casa",
    "cs": "Staré město leží na břehu řeky a každý rok ho navštíví tisíce lidí ze vzdálených zemí, aby"
    " viděli jeho trhy, domy a zahrady, a potom o něm doma vyprávějí svým přátelům",
    "da": "Den gamle by ligger ved floden, og hvert år besøger tusindvis af mennesker fra fjerne lande"
    " den for at se markederne, husene og haverne, og bagefter fortæller de om den derhjemme",
    "de": "Die alte Stadt liegt am Ufer des Flusses, und jedes Jahr besuchen sie Tausende Menschen aus"
    " fernen Ländern, um ihre Märkte, Häuser und Gärten zu sehen, und erzählen dann zu Hause davon",
    "el": "Η παλιά πόλη βρίσκεται στην όχθη του ποταμού και κάθε χρόνο την επισκέπτονται χιλιάδες"
    " άνθρωποι από μακρινές χώρες για να δουν τις αγορές, τα σπίτια και τους κήπους της",
    "en": "The old town lies on the bank of the river, and every year thousands of people from distant"
    " countries visit it to see its markets, houses and gardens, and then tell their friends at home",
    "es": "La ciudad vieja está a la orilla del río y cada año la visitan miles de personas de países"
    " lejanos para ver sus mercados, sus casas y sus jardines, y después lo cuentan en su tierra",
    "fi": "Vanha kaupunki sijaitsee joen rannalla, ja joka vuosi tuhannet ihmiset kaukaisista maista"
    " käyvät katsomassa sen toreja, taloja ja puutarhoja ja kertovat niistä sitten kotona",
    "fr": "La vieille ville se trouve au bord du fleuve et chaque année des milliers de personnes"
    " venues de pays lointains la visitent pour voir ses marchés, ses maisons et ses jardins",
    "he": "העיר העתיקה שוכנת על גדת הנהר ובכל שנה מבקרים בה אלפי אנשים מארצות רחוקות כדי לראות את"
    " השווקים, הבתים והגנים שלה, ואחר כך הם מספרים עליה לחבריהם בבית",
    "hi": "पुराना शहर नदी के किनारे बसा है और हर साल दूर देशों से हज़ारों लोग उसके बाज़ार, घर और बगीचे"
    " देखने आते हैं और फिर घर लौटकर अपने मित्रों को उसके बारे में बताते हैं",
    "hu": "Az óváros a folyó partján fekszik, és minden évben több ezer ember látogatja meg távoli"
    " országokból, hogy lássa a piacait, házait és kertjeit, azután otthon mesél róla",
    "it": "La città vecchia si trova sulla riva del fiume e ogni anno la visitano migliaia di persone"
    " da paesi lontani per vedere i mercati, le case e i giardini, e poi ne parlano a casa",
    "ja": "古い町は川のほとりにあり、毎年遠い国から何千人もの人々が市場や家や庭を見るために訪れ、"
    "それから家に帰って友達にその話をします。",
    "ko": "오래된 도시는 강가에 있으며 해마다 먼 나라에서 수천 명의 사람들이 시장과 집과 정원을 보려고"
    " 찾아와서 집에 돌아가 친구들에게 그 이야기를 한다",
    "nl": "De oude stad ligt aan de oever van de rivier en elk jaar bezoeken duizenden mensen uit verre"
    " landen haar om de markten, de huizen en de tuinen te zien, en vertellen er thuis over",
    "pl": "Stare miasto leży nad brzegiem rzeki i każdego roku odwiedzają je tysiące ludzi z dalekich"
    " krajów, żeby zobaczyć jego targi, domy i ogrody, a potem opowiadają o nim w domu",
    "pt": "A cidade velha fica na margem do rio e todos os anos milhares de pessoas de países"
    " distantes visitam-na para ver os seus mercados, as casas e os jardins, e depois contam em casa",
    "ru": "Старый город лежит на берегу реки, и каждый год его посещают тысячи людей из далёких стран,"
    " чтобы увидеть его рынки, дома и сады, а потом рассказывают о нём дома своим друзьям",
    "sv": "Den gamla staden ligger vid flodens strand och varje år besöker tusentals människor från"
    " avlägsna länder den för att se marknaderna, husen och trädgårdarna och berättar sedan hemma",
    "th": "เมืองเก่าตั้งอยู่ริมฝั่งแม่น้ำและทุกปีมีผู้คนหลายพันคนจากประเทศที่ห่างไกลมาเยี่ยมชมตลาดบ้านและสวนของเมือง",
    "tr": "Eski şehir nehrin kıyısında bulunur ve her yıl uzak ülkelerden binlerce insan pazarlarını,"
    " evlerini ve bahçelerini görmek için onu ziyaret eder, sonra da evde arkadaşlarına anlatır",
    "uk": "Старе місто лежить на березі річки, і щороку його відвідують тисячі людей із далеких країн,"
    " щоб побачити його ринки, будинки та сади, а потім розповідають про нього вдома",
    "vi": "Thành phố cổ nằm bên bờ sông và mỗi năm có hàng nghìn người từ những đất nước xa xôi đến thăm"
    " để xem chợ, nhà cửa và vườn tược, rồi về nhà kể cho bạn bè nghe",
    "zh": "古老的城市坐落在河岸边，每年有成千上万的人从遥远的国家来到这里，参观它的市场、房屋和花园，"
    "然后回家把这一切讲给朋友们听。",
}  # fmt: skip


@pytest.mark.parametrize("code", TEXTS)
def test_a_sentence_and_a_page_are_recognised(code: str) -> None:
    for text in (TEXTS[code], f"{TEXTS[code]}.\n" * 20):
        best, share = languages(text, "")[0]
        assert best == code
        assert 0.1 <= share <= 1.0


@pytest.mark.parametrize("code", ["de", "ru", "ja", "ar", "vi"])
def test_a_wrong_declaration_changes_nothing(code: str) -> None:
    for declared in ("en", "fr-FR", "pl", "sq", "x-nonsense", "\ud800", ""):
        if declared != "sq" or code in ("ru", "ja", "ar"):  # Albanian has no model: see below
            assert languages(f"{TEXTS[code]}. " * 9, declared)[0][0] == code, declared


ALBANIAN = (
    "Qyteti i vjetër shtrihet buzë lumit dhe çdo vit e vizitojnë mijëra njerëz nga vende të largëta"
    " për të parë tregjet, shtëpitë dhe kopshtet e tij, dhe pastaj e tregojnë në shtëpi. "
)


def test_a_language_without_a_model_is_believed_if_its_script_fits() -> None:
    assert languages(ALBANIAN * 9, "sq-AL")[0][0] == "sq"
    assert languages(f"{TEXTS['en']}. " * 9, "sq")[0][0] == "en"  # left from a template
    assert languages(f"{TEXTS['ru']}. " * 9, "sq")[0][0] == "ru"
    assert languages(f"{TEXTS['ru']}. " * 9, "kk")[0][0] == "kk"  # nobody can tell: it may be


def test_a_declaration_decides_between_languages_that_look_alike() -> None:
    text = "Byen ligger ved floden og er meget gammel"
    assert languages(text, "da")[0][0] == "da"
    assert languages(text, "nb-NO")[0][0] == languages(text, "no")[0][0] == "nb"
    assert languages("東京大学 文学部 歴史文化学科", "ja")[0][0] == "ja"


def test_two_languages_have_their_shares() -> None:
    half = f"{TEXTS['de']}. " * 6 + f"{TEXTS['fr']}. " * 6
    assert dict(languages(half, "")) == {"de": 0.5, "fr": 0.5}
    most = f"{TEXTS['de']}. " * 6 + f"{TEXTS['ru']}. " * 4
    found = languages(most, "en")
    assert [code for code, _ in found] == ["de", "ru"] and found[0][1] >= found[1][1]


def test_english_names_do_not_make_a_japanese_page_english() -> None:
    text = "Debian GNU/Linux の Installer は Windows と macOS のパーティションを変更します。" * 9
    assert languages(text, "")[0][0] == "ja"


@pytest.mark.parametrize(
    "text",
    ["", " ", "OK", "42", "1, 2, 3 " * 200, "\0" * 900, "\u200b" * 900, "😀" * 900, "\ud800" * 900,
     "{}();" * 300, "xxxx" * 300, "Home"],
)  # fmt: skip
def test_what_is_no_language_has_none(text: str) -> None:
    assert languages(text, "") == []


def test_more_text_costs_no_more() -> None:
    chance = random.Random(11)
    for letters in ("abcdefghijklmnop ", "абвгдежз ", "一丁七万丈三上下 ", "\ud800a \u0301"):
        text = "".join(chance.choices(letters, k=1_000_000))
        long = cpu_seconds(partial(languages, text, "de"))
        assert long < 0.01, (letters, long)


def test_places_are_few_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:

    seen: list[str] = []
    asked = language.detector()

    def watched(text: str, among: object = None) -> Any:
        seen.append(text)
        return asked(text)

    monkeypatch.setattr(language, "detector", lambda: watched)
    languages(f"{TEXTS['de']} {TEXTS['fr']} {TEXTS['it']} " * 500, "")
    assert len(seen) <= 2 + PIECES and max(map(len, seen)) <= PIECE


def test_threads_get_the_same_answers() -> None:
    texts = [f"{text} " * 9 for text in TEXTS.values()] * 8
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(languages, texts)) == list(map(languages, texts))


def test_the_detectors_models_are_those_that_we_know() -> None:
    """A newer turbohtml with more models makes our table stale: the declared language would win."""
    from turbohtml.detect import LanguageDetection, detect_language

    codes = [pair.split(":") for pair in _CODES.split()]
    samples = {name: TEXTS[name] for name in ("en", "ru", "ar", "hi", "he")}
    named = {
        short
        for short, long in [*codes, ("fa", "pes")]
        for text in samples.values()
        if detect_language(text, LanguageDetection(allowed=frozenset([long]))).language
    }
    assert named == {code for codes in MODELS.values() for code in codes.split()}


@pytest.mark.parametrize(
    ("declared", "code", "long"),
    [("de", "de", "deu"), ("de-AT", "de", "deu"), ("DE_de", "de", "deu"), ("zh-Hant-TW", "zh", "zho"),
     ("no", "nb", "nob"), ("iw", "he", "heb"), ("zho", "zh", "zho"), ("ger", "de", "deu"),
     ("nds", "nds", "nds"), ("fil", "tl", "tgl"), ("english", "", ""), ("x", "", ""), ("", "", ""),
     ("qq", "", ""), ("e1", "", "")],
)  # fmt: skip
def test_codes(declared: str, code: str, long: str) -> None:
    assert code_of(declared) == code
    assert iso639_3(code) == long


@pytest.mark.parametrize("code", sorted(TEXTS))
def test_a_wrong_declaration_is_found_out_by_small_words_too(code: str) -> None:
    text = f"{TEXTS[code]}. " * 12
    for declared in language.SMALL:
        if declared != code:
            assert languages(text, declared)[0][0] != declared, declared


def test_small_words_are_enough_where_they_are_everywhere() -> None:
    text = "The river rises in the hills and it is one of those that have been there for ages. " * 9
    assert language.shows(text, "en")
    assert languages(text, "en-GB") == [("en", 1.0)]
    half = text + f"{TEXTS['de']}. " * 9
    assert not language.shows(half, "en")
    assert {code for code, _ in languages(half, "en")} == {"de", "en"}


@pytest.mark.skipif(language.compiled is None, reason="not compiled")
def test_small_words_are_counted_alike_by_both_readers() -> None:
    seed = random.randrange(1 << 32)
    print("seed", seed)
    chance = random.Random(seed)
    blanks = [" ", "\n", "\t", "\v", "\x1c", "\x1f", "\x85", "\xa0", "\u1680", "\u2000", "\u200a"]
    blanks += ["\u2028", "\u2029", "\u202f", "\u205f", "\u3000"]
    others = [
        "\0",
        "\x1b",
        "\u180e",
        "\u200b",
        "\ufeff",
        "\ud800",
        ",",
        "é",
        "x",
        "语",
        "internationa",
    ]
    for code in language.SMALL:
        assert max(len(word.encode()) for word in language.SMALL[code]) <= 8
        pieces = [*language.SMALL[code], *blanks, *blanks, *others]
        for _ in range(300):
            text = "".join(chance.choices(pieces, k=chance.randrange(60)))
            assert language.counted(text, code) == language.counted_in_python(text, code), text
