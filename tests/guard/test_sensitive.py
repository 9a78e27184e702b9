"""How much is at stake: by tool, by element, by page, by patterns; in many languages, and against tricks with letters."""

import importlib
import pkgutil
import time
from typing import Any

import pytest

import pilothouse.tools
from pilothouse.errors import Failure
from pilothouse.guard.policy import Aim, Question
from pilothouse.guard.redact import redact_text
from pilothouse.guard.rules import compile_pattern
from pilothouse.guard.sensitive import assess
from pilothouse.guard.words import is_dismissal, meanings
from pilothouse.tool import Access, declared
from tests.promises import promise

pytestmark = promise("D06", "D15")

PAGE = "https://shop.test/things"


def asked(
    tool: str = "click",
    *aims: Aim,
    access: Access = Access.WRITE,
    urls: tuple[str, ...] = (PAGE,),
    presses: bool = True,
    **args: Any,
) -> Question:
    return Question(caller="a", session="s", tool=tool, access=access, args=args, urls=urls, aims=aims, presses=presses)


def button(name: str, **more: str) -> Aim:
    return Aim(**{"role": "button", "name": name, "kind": "button", "url": PAGE, **more})


def field(**more: str) -> Aim:
    return Aim(**{"role": "textbox", "kind": "text", "url": PAGE, **more})


def risk(question: Question) -> str:
    return assess(question)[0]


# By tool


def test_every_sensitive_tool_says_why():
    for module in pkgutil.iter_modules(pilothouse.tools.__path__):
        importlib.import_module(f"pilothouse.tools.{module.name}")
    for tool in declared():
        if tool.access is Access.SENSITIVE or tool.sensitive:
            level, why = assess(asked(tool.name, access=Access.SENSITIVE))
            assert level in ("low", "medium"), tool.name
            assert "is a sensitive tool" not in why, f"{tool.name} has no words of its own"


def test_tools():
    assert risk(asked("evaluate_js", access=Access.SENSITIVE)) == "medium"
    assert risk(asked("wait_for", access=Access.READ)) == "none"
    assert risk(asked("wait_for", access=Access.SENSITIVE)) == "medium"
    assert risk(asked("delete_profile", access=Access.SENSITIVE, data=True)) == "high"
    assert assess(asked("open_session", access=Access.SENSITIVE, proxy="http://p.test:1")) == (
        "medium",
        "sends all it asks for through a proxy",
    )
    assert assess(asked("open_session", access=Access.SENSITIVE, storage_state="ada"))[1].startswith("restores")
    assert risk(asked("open_session", access=Access.VISIT, mode="ask")) == "none"
    assert risk(asked("one_of_tomorrow", access=Access.SENSITIVE)) == "medium"
    assert risk(asked("get_page_text", access=Access.READ)) == "none"


# By what is typed


@pytest.mark.parametrize(
    "text",
    [
        "4111111111111111",
        "4111 1111 1111 1111",
        "5500-0000-0000-0004",
        "my card is 378282246310005, thanks",
        "４１１１１１１１１１１１１１１１",
        "4111\u200b1111\u200b1111\u200b1111",
        "٤١١١١١١١١١١١١١١١",
    ],
)
def test_a_card_number_is_known_wherever_it_is_typed(text: str):
    assert risk(asked("type_text", field(), text=text)) == "high"
    assert risk(asked("fill_form", field(), fields=[{"target": "#a", "value": text}])) == "high"


def test_a_card_number_cut_over_several_fields():
    parts = [{"target": f"#{index}", "value": "4111" if index == 0 else "1111"} for index in range(4)]
    assert risk(asked("fill_form", field(), fields=parts)) == "high"


@pytest.mark.parametrize(
    "text", ["4111111111111112", "1700000000000", "+49 170 1234567", "order 12345678", "", "x" * 9000]
)
def test_other_numbers_are_none(text: str):
    assert risk(asked("type_text", field(), text=text)) == "none"


def test_a_secret_by_name():
    assert risk(asked("type_text", field(), text="secret:github")) == "medium"


# By element


@pytest.mark.parametrize(
    ("aim", "expected"),
    [
        (field(kind="password"), "medium"),
        (field(purpose="new-password"), "medium"),
        (field(purpose="one-time-code"), "medium"),
        (field(name="Verification code"), "medium"),
        (field(purpose="cc-number"), "high"),
        (field(purpose="cc-csc"), "high"),
        (field(purpose="cardNumber"), "high"),
        (field(name="Kartennummer"), "high"),
        (field(name="CVC"), "high"),
        (field(name="Número de tarjeta"), "high"),
        (field(name="Comment", purpose="comment"), "none"),
        (field(name="Send to"), "none"),
        (field(name="Delete reason"), "none"),
    ],
)
def test_fields(aim: Aim, expected: str):
    assert risk(asked("type_text", aim, text="x")) == expected
    assert risk(asked("click", aim)) == "none"  # the focus alone is nothing


@pytest.mark.parametrize(
    "name",
    [
        "Pay now", "Buy", "Place order", "Complete purchase", "Transfer", "Order",
        "Jetzt kaufen", "Zahlungspflichtig bestellen", "Überweisen", "Payer", "Commander", "Acheter maintenant",
        "Pagar ahora", "Comprar", "Acquista ora", "Finalizar compra", "Nu betalen", "Kup teraz", "Оплатить", "Satın al",
        "立即购买", "購入する", "결제하기", "Delete account", "Konto endgültig löschen", "Supprimer mon compte",
        "Eliminar cuenta", "удалить аккаунт", "アカウント削除", "Permanently delete this repository",
    ],
)  # fmt: skip
def test_what_costs_money_or_cannot_be_taken_back(name: str):
    assert risk(asked("click", button(name))) == "high"


@pytest.mark.parametrize(
    "name",
    [
        "Delete", "Remove item", "Send", "Publish", "Post reply", "Löschen", "Absenden", "Veröffentlichen", "Supprimer",
        "Envoyer", "Borrar", "Enviar", "Elimina", "Verwijderen", "Usuń", "Отправить", "删除", "送信", "삭제",
        "Cancel subscription", "Abo kündigen", "Authorize", "Autoriser",
    ],
)  # fmt: skip
def test_what_deletes_sends_or_permits(name: str):
    assert risk(asked("click", button(name))) == "medium"


@pytest.mark.parametrize("name", ["Submit", "Save", "Sign in", "Bestätigen", "Valider", "Guardar"])
def test_what_confirms(name: str):
    assert risk(asked("click", button(name))) == "low"


@pytest.mark.parametrize(
    "name",
    ["Next", "Show more", "Order history", "Payment methods", "Sort order", "Undeletable", "Paycheck", "Sender", "Menu",
     "Open", "Buyers guide", "Compose", "Cancel", "Abbrechen", "×", ""],
)  # fmt: skip
def test_the_rest(name: str):
    assert risk(asked("click", button(name))) == "none"


@pytest.mark.parametrize(
    "name",
    ["DELETE", "dElEtE", "De\u200blete", "D\u00adelete", "Ｄｅｌｅｔｅ", "Dеlеtе", "D e l e t e", "D-e-l-e-t-e", "D.e.l.e.t.e",
     "Dele\u0301te\u0301", "\U0001d403\U0001d41e\U0001d425\U0001d41e\U0001d42d\U0001d41e", "🗑 Delete", "deleteItem",
     "delete_item", "LOSCHEN", "lo\u0308schen", "\u202eDelete", "x" * 10_000_000 + " delete"],
)  # fmt: skip
def test_tricks_with_letters(name: str):
    assert risk(asked("click", button(name))) == "medium"


def test_an_element_without_a_name_is_known_by_its_purpose():
    assert risk(asked("click", button("", purpose="btn icon-trash"))) == "medium"
    assert risk(asked("click", button("Next", purpose="delete-button"))) == "none"


def test_forms():
    assert risk(asked("click", button("Go", kind="submit", form="card"))) == "high"
    assert risk(asked("click", button("Go", kind="submit", form="password"))) == "medium"
    assert risk(asked("click", button("Go", kind="submit", form="code,file"))) == "medium"
    assert risk(asked("click", button("Go", kind="submit"))) == "low"
    assert risk(asked("press_key", field(), button("Go", kind="submit", form="card"), key="Enter")) == "high"
    assert (
        risk(asked("press_key", field(), button("Go", kind="submit", form="card"), key="Tab", presses=False)) == "none"
    )
    assert risk(asked("press_key", field(kind="password"), key="a", presses=False)) == "medium"
    assert risk(asked("press_key", field(kind="password"), key="Tab", presses=False)) == "none"
    assert risk(asked("focus_ref", button("Delete"))) == "none"


def test_what_is_sent_and_what_stands_beside_it_are_told_apart():
    def why(**more: Any) -> str:
        return redact_text(assess(asked("click", button("Go", **more)))[1])

    assert why(kind="submit", form="password") == '"Go" sends a form that holds a password'
    assert why(kind="button", form="password") == '"Go" stands beside a password field'
    assert why(kind="div", form="card") == '"Go" stands beside a payment card\'s field'
    assert why(kind="form", role="form", form="code") == '"Go" sends a form that holds a one-time code'


def test_links():
    link = {"role": "link", "kind": "a"}
    assert risk(asked("click", button("Buy", leads_to="https://shop.test/x", **link))) == "medium"
    assert risk(asked("click", button("Buy", leads_to="javascript:buy()", **link))) == "high"
    assert risk(asked("click", button("7", leads_to="https://shop.test/items/7/delete", **link))) == "medium"
    assert risk(asked("click", button("Home", leads_to="https://shop.test/", **link))) == "none"
    assert risk(asked("click", button("Report", kind="download"))) == "medium"


def test_questions_in_dialogs():
    dialog = Aim(role="dialog", name="Delete this list?", kind="dialog", url=PAGE)
    assert risk(asked("click", button("Yes"), dialog)) == "medium"
    assert risk(asked("click", button("Cancel"), dialog)) == "none"
    assert risk(asked("handle_dialog", dialog, accept=True)) == "medium"
    assert risk(asked("handle_dialog", dialog, accept=False)) == "none"


# By page


def test_pages():
    there = "https://shop.test/checkout/step-2"
    assert risk(asked("click", button("Next", url=there), urls=(there,))) == "medium"
    assert risk(asked("click", button("Next"), urls=("https://shop.test/#/kasse",))) == "medium"
    assert risk(asked("click", button("Next"), urls=("https://shop.test/settings/delete-account",))) == "high"
    assert risk(asked("type_text", field(url=there), text="Ada", urls=(there,))) == "none"
    assert risk(asked("click", button("Next"), urls=("https://pay.shop.test/x?checkout=1",))) == "none"


# By patterns


def test_patterns_of_a_person():
    patterns = [compile_pattern(one) for one in ("(?i)launch.*rocket", "staging\\.test/admin")]
    assert assess(asked("click", button("Launch the rocket")), patterns) == (
        "high",
        'fits the pattern "(?i)launch.*rocket"',
    )
    assert assess(asked("click", button("x"), urls=("https://staging.test/admin",)), patterns)[0] == "high"
    assert assess(asked("click", button("La\u200bunch ROCKET")), patterns)[0] == "high"
    assert assess(asked("click", button("\ud800")), patterns)[0] == "none"
    assert assess(asked("click", button("x")), patterns)[0] == "none"


@pytest.mark.parametrize("pattern", ["(", "(?=x)y", "(a)\\1"])
def test_what_is_no_pattern_is_refused(pattern: str):
    with pytest.raises(Failure) as caught:
        compile_pattern(pattern)
    assert caught.value.code == "bad_request"


@pytest.mark.alone
def test_hostile_input_costs_little():
    patterns = [compile_pattern(one) for one in ("(a+)+$", "(?i)(x|x)*y")]
    huge = "a" * 10_000_000 + "!"
    aims = [
        button(huge, purpose=huge, leads_to=f"https://x.test/{huge}", url=f"https://x.test/{huge}", form=huge)
    ] * 200
    began = time.perf_counter()
    assess(asked("fill_form", *aims, fields=[{"target": "#a", "value": "4" * 1_000_000}] * 200), patterns)
    assert time.perf_counter() - began < 2


@pytest.mark.alone
def test_an_ordinary_question_costs_next_to_nothing():
    question = asked("click", button("Add to basket", form="password", kind="submit"))
    assess(question)
    began = time.perf_counter()
    for _ in range(200):
        assess(question)
    assert (time.perf_counter() - began) / 200 < 0.001


def test_words():
    assert meanings("Delete account") == {"delete", "delete_all"}
    assert meanings("My account") == frozenset()
    assert is_dismissal("No, thanks") or is_dismissal("No thanks")
    assert not is_dismissal("Cancel subscription")
    assert not is_dismissal("")


@pytest.mark.parametrize("name", ["×", "✕", "✖️", "✗", "Cancel", "✕ Close", "No.", "取消"])
def test_who_says_no_sets_nothing_off(name: str):
    assert is_dismissal(name)
    question = Aim(role="dialog", name="Delete everything?", kind="dialog")
    assert risk(asked("click", button(name, form="card"), question)) == "none"
    assert risk(asked("click", button(name, kind="submit", form="card"))) == "high"


@pytest.mark.parametrize("name", ["✓", "→", "...", "🗑", "💳"])
def test_signs_are_no_refusal(name: str):
    assert not is_dismissal(name)
    assert risk(asked("click", button(name, form="card"))) == "high"
    assert risk(asked("click", button(name, purpose="pay-button"))) == "high"


def test_pictures():
    assert risk(asked("click", button("🗑️"))) == "medium"
    assert risk(asked("click", button("💳 1234"))) == "high"


def test_a_refusal_is_what_is_pressed():
    pay = button("Pay now", kind="submit")
    assert risk(asked("press_key", field(name="No."), pay, key="Enter")) == "high"
    assert risk(asked("type_text", field(name="No."), pay, text="4", submit=True)) == "high"
    assert risk(asked("click", button("Cancel"), pay)) == "high"
    assert risk(asked("drag", button("×"), button("🗑"))) == "medium"
    assert risk(asked("click", button("💳 Close"))) == "high"


@pytest.mark.parametrize(
    "name",
    ["Submit payment", "Close my account", "Delete all", "Delete all messages", "Delete all files", "Remove all",
     "Alle löschen", "Alle Nachrichten löschen", "Bid $100", "Bid 100 €", "Send 0.5 BTC", "Send US$5", "Tip CA$ 3", "Wipe device", "One-click order",
     "Konto schließen", "Tout supprimer", "全部删除"],
)  # fmt: skip
def test_what_costs_money_or_ends_all_of_something_is_asked_about(name: str):
    assert risk(asked("click", button(name))) == "high"


@pytest.mark.parametrize(
    "name",
    ["Close", "Close dialog", "Delete draft", "Remove filter", "Show all", "Select all", "Clear all", "Archive all",
     "Send message", "Send 2 messages", "Send to all", "Order by price", "Bid history", "View all bids", "Account",
     "Payment methods", "Submit", "Remove device", "Wiped $5", "Send feedback in 2 minutes", "Alle anzeigen"],
)  # fmt: skip
def test_and_what_only_sounds_alike_is_not(name: str):
    assert risk(asked("click", button(name))) != "high"


PAYING = {
    "ar": ["ادفع الآن", "ادفع ١٠٠ ريال", "إتمام الدفع", "تأكيد الطلب", "شراء", "اشترِ الآن", "ادفـــع الآن"],
    "bn": ["পেমেন্ট করুন", "এখনই কিনুন", "অর্ডার নিশ্চিত করুন"],
    "fa": ["پرداخت", "ثبت سفارش", "تأیید و پرداخت", "خرید", "انتقال وجه"],
    "he": ["שלם עכשיו", "בצע הזמנה", "אישור תשלום", "קנה עכשיו"],
    "hi": ["भुगतान करें", "अभी भुगतान करें", "अभी खरीदें", "अभी ख़रीदें", "ऑर्डर दें", "खरीदें ₹500"],
    "id": ["Bayar", "Bayar Rp 50.000", "Bayar sekarang", "Beli Sekarang", "Buat Pesanan"],
    "it": ["Conferma acquisto", "Completa l'acquisto", "Invia ordine"],
    "nl": ["Bestelling plaatsen", "Nu kopen", "Betalen"],
    "pl": ["Kup i zapłać", "Złóż zamówienie", "Zamówienie z obowiązkiem zapłaty"],
    "pt": ["Finalizar pedido", "Concluir compra", "Confirmar pagamento"],
    "th": ["ชำระเงิน", "ชำระเงินทันที", "สั่งซื้อ", "ซื้อเลย", "ซื้อ ฿500", "ยืนยันการชำระเงิน"],
    "tr": ["Siparişi onayla", "SATIN AL", "Hemen Al", "ÖDEMEYİ TAMAMLA"],
    "uk": ["Оплатити", "Купити зараз", "Оформити замовлення"],
    "ur": ["ابھی ادائیگی کریں", "ابھی خریدیں", "آرڈر کریں"],
    "vi": ["Thanh toán", "Thanh toán 500.000₫", "Thanh toán ngay", "Đặt hàng", "Mua ngay"],
}
ENDING = {
    "ar": ["حذف الحساب", "حذف حسابي", "احذف حسابي", "إغلاق الحساب", "حذف حسابي نهائيًا"],
    "bn": ["অ্যাকাউন্ট মুছুন", "অ্যাকাউন্ট মুছে ফেলুন", "অ্যাকাউন্ট বন্ধ করুন"],
    "fa": ["حذف حساب", "حذف حساب کاربری", "حذف حساب كاربري", "بستن حساب"],
    "he": ["מחק חשבון", "מחיקת חשבון", "סגור חשבון", "מחק את החשבון שלי"],
    "hi": ["खाता हटाएँ", "खाता हटाएं", "अकाउंट डिलीट करें", "खाता बंद करें"],
    "id": ["Hapus akun", "Hapus Akun Saya", "Tutup akun"],
    "it": ["Elimina account", "Chiudi l'account"],
    "nl": ["Account verwijderen", "Account opheffen"],
    "pl": ["Usuń konto", "Zamknij konto"],
    "pt": ["Excluir conta", "Encerrar conta"],
    "th": ["ลบบัญชี", "ลบบัญชีของฉัน", "ปิดบัญชี"],
    "tr": ["Hesabı sil", "Hesabımı sil", "Hesabı kapat"],
    "uk": ["Видалити акаунт", "Видалити обліковий запис", "Закрити рахунок"],
    "ur": ["اکاؤنٹ ڈیلیٹ کریں", "اکاؤنٹ حذف کریں", "اکاؤنٹ بند کریں"],
    "vi": ["Xóa tài khoản", "Xoá tài khoản", "Đóng tài khoản"],
}


@pytest.mark.parametrize("name", [name for words in (PAYING, ENDING) for names in words.values() for name in names])
def test_paying_and_ending_an_account_are_known_in_many_languages(name: str):
    assert risk(asked("click", button(name))) == "high"


@pytest.mark.parametrize(
    "name",
    ["طرق الدفع", "سجل الطلبات", "حسابي", "إغلاق", "भुगतान इतिहास", "भुगतान के तरीके", "मेरा खाता", "बंद करें", "वापस",
     "วิธีการชำระเงิน", "ประวัติการสั่งซื้อ", "บัญชีของฉัน", "เลือกซื้อสินค้าต่อ", "Metode pembayaran", "Belum bayar", "Akun saya",
     "Phương thức thanh toán", "Đơn đặt hàng", "Tài khoản", "אמצעי תשלום", "החשבון שלי", "روش‌های پرداخت", "تاریخچه خرید",
     "حساب کاربری", "ادائیگی کے طریقے", "میرا اکاؤنٹ", "পেমেন্ট পদ্ধতি", "আমার অ্যাকাউন্ট", "Способи оплати", "Мій акаунт",
     "Metody płatności", "Moje konto", "Płace", "Minha conta", "Formas de pagamento", "Il mio account", "Mijn account",
     "Ödeme yöntemleri", "Hesabım", "ขนาด", "फिर से", "تم"],
)  # fmt: skip
def test_and_what_stands_beside_them_in_menus_is_not(name: str):
    assert risk(asked("click", button(name))) == "none"


@pytest.mark.parametrize(
    "name", ["रद्द करें", "ยกเลิก", "إلغاء", "ביטול", "لغو", "منسوخ کریں", "বাতিল", "Скасувати", "Batal", "Hủy", "Vazgeç"]
)
def test_no_is_known_wherever_paying_is(name: str):
    question = Aim(role="dialog", name="ลบบัญชี", kind="dialog")
    assert risk(asked("click", button("OK"), question)) == "high"
    assert risk(asked("click", button(name), question)) == "none"


def test_vowel_signs_are_part_of_words_of_their_own_letters_only():
    assert meanings("हटाएं") == {"delete"}
    assert meanings("हटाया") == frozenset()
    assert meanings("De\u0902lete") == {"delete"}
    assert meanings("ซอย") == frozenset()
