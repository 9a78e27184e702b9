"""The price of a text: right to the piece, and found in one walk however long the text is."""

import random
import string
import time

import pytest

from bench.tokens import count_tokens
from pilothouse.browser.budget import clip, paged, tokens
from pilothouse.browser.signs import CHINESE, KOREAN
from tests.promises import promise

pytestmark = promise("A12")

SORTS = {
    "words": "the quick Brown fox; ",
    "numbers": "1 22 333 4444  55555 ",
    "signs": "a!b?c.",
    "chinese": "按钮提交订单",
    "rare": "ሰላም ልዑል \u1680\u1680 ",
    "blanks": " ",
}


@pytest.mark.parametrize("sort", SORTS)
@pytest.mark.parametrize("budget", [50, 51, 115, 1150, 2500])
def test_every_page_and_every_clip_fits(sort: str, budget: int) -> None:
    text = SORTS[sort] * (20_000 // len(SORTS[sort]))
    pages = paged(text, budget)
    assert "".join(pages) == text
    assert max(tokens(page) for page in pages) <= budget
    assert tokens(clip(text, budget)) <= budget
    assert all(tokens(page) > budget * 0.9 for page in pages[:-1])


def test_short_lines_share_a_page() -> None:
    text = "\n".join(f"line {n}" for n in range(1000))
    pages = paged(text, 500)
    assert "\n".join(pages) == text
    assert 5 < len(pages) < 15
    assert paged("", 100) == [""]
    assert clip("short", 50) == "short"
    assert clip("anything", 0) == "…"


@pytest.mark.parametrize("text", [SORTS["words"] * 200_000, "ab\n" * 700_000], ids=["one line", "short lines"])
def test_four_megabytes_are_paged_at_once(text: str) -> None:
    began = time.process_time()
    pages = paged(text, 2500)
    assert time.process_time() - began < 1
    assert len(pages) > 100


def test_a_huge_line_is_clipped_without_reading_it_all() -> None:
    began = time.process_time()
    assert tokens(clip("wide " * 800_000, 100)) <= 100
    assert time.process_time() - began < 0.1


def by_lot(signs: str, *, count: int = 2000) -> str:
    return "".join(random.Random(7).choices(signs, k=count))


def ids(signs: str, length: int) -> str:
    signs = by_lot(signs, count=100 * length)
    return " ".join(signs[at : at + length] for at in range(0, len(signs), length))


def lines_of(words: str) -> str:
    """As a snapshot has them."""
    return "\n".join(f'  button "{word}" e{number}' for number, word in enumerate(words.split()))


def of_syllables(count: int) -> str:
    """Names that somebody made up for a test."""
    lot = random.Random(7)
    words = ["".join(lot.choice("bdfgklmnprstvz") + lot.choice("aeiou") for _ in range(count)) for _ in range(400)]
    return " ".join(words)


def apart(signs: str) -> str:
    return " ".join(signs)


KANA = "あいうえおかきくけこさしすせそたちつてとなにぬねのはひふへほまみむめもやゆよらりるれろわをん"
PLACES = (
    "Ankara Antananarivo Bamako Bydgoszcz Chisinau Djibouti Fukuoka Gaborone Guangzhou Hakodate Harare Hyderabad Iquitos"
    " Jyvaskyla Kagoshima Kampala Kathmandu Kawasaki Kinshasa Kumasi Lilongwe Lubumbashi Maputo Mbabane Mogadishu Mwanza"
    " Nagasaki Ndjamena Nouakchott Novosibirsk Nuuk Okayama Ouagadougou Paramaribo Pekanbaru Podgorica Pontianak Quito"
    " Rawalpindi Samarkand Semarang Shenzhen Skopje Surabaya Szczecin Taganrog Thimphu Toamasina Tokushima Ujjain"
    " Vijayawada Wakayama Windhoek Yaounde Yekaterinburg Yokohama Zanzibar Zhengzhou"
)
THINGS = (  # creatures of a game, chairs, firms, pills
    "Bulbasaur Ivysaur Venusaur Charmeleon Wartortle Caterpie Kakuna Pidgeotto Rattata Ekans Nidorina Vulpix Zubat"
    " Golbat Venonat Diglett Meowth Growlithe Poliwag Kadabra Machoke Geodude Ponyta Doduo Dewgong Onix Voltorb"
    " Ektorp Kallax Hemnes Vittsjo Trofast Songesand Koppang Zovio Qualtaro Velano Kaluva Nexora Zalora Vivino"
    " Adalimumab Tocilizumab Rosuvastatin Pantoprazole Sitagliptin Apixaban Empagliflozin Quetiapine Ribociclib"
)
ROMAJI = (
    "watashi no namae wa tanaka desu. sumimasen, kono densha wa shibuya ni tomarimasu ka. eki made dono kurai kakarimasu"
    " ka. toire wa doko desu ka. mizu o kudasai. nihongo ga sukoshi wakarimasu. neko ga suki desu. ikura desu ka. "
)

KINDS = {
    "english": "Review the terms, then press Continue to place your order; you can cancel it until it ships.\n" * 20,
    "chinese": "请输入您的手机号码和验证码，点击提交按钮完成登录。购物车内没有商品，继续浏览。" * 20,
    "korean": "이용 약관에 동의하신 후 회원가입 버튼을 눌러 주세요. 비밀번호를 잊으셨나요? " * 20,
    "chinese by lot": by_lot("".join(map(chr, range(0x4E00, 0xA000)))),
    "korean by lot": by_lot("".join(map(chr, range(0xAC00, 0xD7A4)))),
    "a gene": by_lot("acgt"),
    "genes": "\n".join(by_lot("acgt", count=60) for _ in range(50)),
    "hex": by_lot("0123456789abcdef"),
    "base64": by_lot("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"),
    "made-up names": of_syllables(3),
    "buttons with made-up names": lines_of(of_syllables(3)),
    "buttons with such capitals": lines_of(of_syllables(3).title()),
    "such capitals of two": of_syllables(2).title(),
    "places": PLACES.replace(" ", "\n"),
    "things": THINGS.replace(" ", "\n"),
    "buttons with things": lines_of(THINGS),
    "japanese in latin letters": ROMAJI,
    "kana apart": apart(KANA),
    "chinese apart": apart("鼠牛虎兔龙蛇马羊猴鸡狗猪王李张刘陈杨黄赵周吴徐孙朱"),
    "chinese in pairs": ids(CHINESE, 2),
    "chinese in threes": ids(CHINESE, 3),
    "korean apart": apart(by_lot(KOREAN)),
    "chinese of three pieces": by_lot("".join(map(chr, range(0x9D00, 0x9E00)))),
    "korean of three pieces": by_lot("".join(map(chr, range(0xBE80, 0xC040)))),
    "buttons with chinese signs": lines_of(by_lot("".join(map(chr, range(0x4E00, 0xA000))) + " " * 5000)),
}

SCRAPS = [
    "Сохранить изменения и выйти",
    "按钮 提交订单 的 用户名称",
    "🚀 🎉 ✕ → … ✓",
    "ሰላም ልዑል አዲስ አበባ",
    " ".join(f"e{n}" for n in range(500)),
    " ".join(str(n) for n in range(500)),
    "https://example.com/a/b/c?x=1&y=%20%2F&z=foo_bar-baz#top",
    "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "сӕрмагонд ӕвзӕг ӕмӕ ӕндӕр",
    "ދިވެހިބަސް ރާއްޖޭގެ ބަހެވެ",
    "ܠܫܢܐ ܣܘܪܝܝܐ",
    "בְּרֵאשִׁית בָּרָא אֱלֹהִים",
    "ˈtɹænskɹɪpʃən ʃəˈnɛtɪk",
    "∀x∈ℝ: ⌈x⌉ = −⌊−x⌋, ∮∇×F",
    "\ue000\uf8ff \U00010380 \U000f0001",
    "एक पृष्ठ और बटन",
    "ปุ่มบันทึกการเปลี่ยนแปลง",
    ids(string.ascii_lowercase, 20),
    ids(string.ascii_lowercase, 4),
    ids(string.ascii_uppercase, 8),
    ids(string.ascii_letters + string.digits, 22),
    ids(string.ascii_lowercase + "234567", 56),
    ids("abcdefghijklmnop", 32),
    ids("abcdef" + string.digits, 40),
    ids(string.punctuation, 6),
    " ".join(word.title() + word.title() for word in ids(string.ascii_lowercase, 4).split()),
]


def test_a_model_counts_fewer_than_we_say_and_not_far_fewer() -> None:
    counted = dict(zip(KINDS, count_tokens(list(KINDS.values())), strict=True))
    shares = {kind: counted[kind] / tokens(text) for kind, text in KINDS.items()}
    assert {kind: share for kind, share in shares.items() if not 0.4 < share <= 1} == {}


def test_a_model_counts_fewer_for_whatever_a_page_may_say() -> None:
    assert all(real <= tokens(text) for real, text in zip(count_tokens(SCRAPS), SCRAPS, strict=True))
