"""What the words on a button mean, in several languages: paying, deleting, sending, permitting, or going back.

Above: sensitive. Below: result. Names are compared as whole words after everything has been undone that looks the same
to a person: case, accents, width, invisible characters, letters of other alphabets, l e t t e r s set apart.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal

from pilothouse.result import clean

Meaning = Literal["pay", "delete", "delete_all", "send", "permit", "submit", "dismiss", "checkout", "card", "code"]

HEAD_CHARS = 400
TAIL_CHARS = 200
MOST_WORDS = 80
LONGEST_PHRASE = 4
LONGEST_THAI = 24  # letters

# Phrases, one language a line, separated by commas. `delete_all` is what, together with a word of `delete`, cannot be
# taken back. A single word that means too much by itself ("order") stands in phrases only.
_PHRASES: dict[Meaning, str] = {
    "pay": """
        pay, buy, purchase, place order, place your order, submit order, complete order, confirm order, finish order,
        send order, order now, order and pay, place bid, donate, transfer, transfer money, send money, wire, withdraw,
        subscribe now, start subscription, complete purchase, confirm purchase, make payment, confirm payment, invest,
        submit payment, send payment, process payment, complete payment, authorize payment, authorise payment, bid now,
        one click order, 1 click order, order with one click
        bezahlen, zahlen, jetzt zahlen, kaufen, bestellen, zahlungspflichtig, kostenpflichtig, überweisen, spenden,
        abheben
        payer, acheter, commander, régler, virer, effectuer le virement, confirmer la commande, faire un don
        pagar, comprar, realizar pedido, hacer pedido, confirmar pedido, transferir, donar, tramitar pedido
        paga, pagare, acquista, acquistare, compra, ordina, ordinare, conferma ordine, bonifico, dona, trasferisci
        finalizar compra, fazer pedido, doar
        betalen, betaal, kopen, koop, bestel, overmaken, doneren
        zapłać, kup, kupuję, kup teraz, zamawiam, zamów, przelej, wykonaj przelew
        betala, köp, beställ, betal, køb, kjøp, bestill, maksa, osta, tilaa
        оплатить, купить, заказать, перевести, оформить заказ, пожертвовать
        satın al, öde, ödeme yap, sipariş ver, havale
        siparişi tamamla, siparişi onayla, alışverişi tamamla, ödemeyi tamamla, ödemeyi onayla, hemen al, şimdi al,
        para gönder, para transferi yap, bağış yap
        realizar pago, confirmar pago, confirmar compra, finalizar pedido, enviar pedido, enviar dinero
        passer commande, passer la commande, valider la commande, confirmer le paiement, valider le paiement
        concluir compra, concluir pedido, confirmar pagamento, efetuar pagamento, realizar pagamento, encomendar,
        fechar pedido, enviar dinheiro, assinar agora
        conferma acquisto, conferma pagamento, completa acquisto, completa l'acquisto, effettua ordine, invia ordine,
        effettua pagamento, effettua il pagamento, invia denaro, abbonati ora
        plaats bestelling, bestelling plaatsen, bestelling bevestigen, bestelling afronden, betaling bevestigen,
        geld overmaken
        kup i zapłać, złóż zamówienie, potwierdź zamówienie, potwierdź płatność, potwierdź zakup,
        zamówienie z obowiązkiem zapłaty, wyślij przelew
        подтвердить оплату, подтвердить заказ, отправить деньги
        оплатити, сплатити, заплатити, купити, придбати, замовити, оформити замовлення, підтвердити замовлення,
        підтвердити оплату, переказати гроші, переказати кошти, надіслати гроші, пожертвувати
        bayar sekarang, bayar tagihan, beli sekarang, beli langsung, pesan sekarang, buat pesanan, konfirmasi pesanan,
        konfirmasi pembayaran, lakukan pembayaran, kirim uang, transfer uang, transfer sekarang, donasi sekarang,
        langganan sekarang
        thanh toán ngay, xác nhận thanh toán, hoàn tất thanh toán, mua ngay, đặt mua,
        đặt hàng ngay, xác nhận đặt hàng, xác nhận đơn hàng, hoàn tất đơn hàng, trả tiền ngay, chuyển tiền ngay,
        xác nhận chuyển tiền, xác nhận chuyển khoản
        ادفع, ادفع الآن, دفع الآن, الدفع الآن, إتمام الدفع, تأكيد الدفع, إتمام الشراء, تأكيد الشراء, اشتر الآن,
        اشتري الآن, شراء الآن, الشراء الآن, اطلب الآن, تأكيد الطلب, إتمام الطلب, تحويل الأموال, إرسال الأموال,
        تحويل المبلغ, تبرع الآن, اشترك الآن
        שלם עכשיו, שלמו עכשיו, בצע תשלום, ביצוע תשלום, אשר תשלום, אישור תשלום, קנה עכשיו, קנו עכשיו,
        רכוש עכשיו, הזמן עכשיו, בצע הזמנה, ביצוע הזמנה, שלח הזמנה, אשר הזמנה, העבר כסף, העברת כסף, שלח כסף,
        תרום עכשיו, תרמו עכשיו
        پرداخت کنید, پرداخت نهایی, پرداخت وجه, تایید پرداخت, تایید و پرداخت, ثبت سفارش, ثبت نهایی سفارش, تایید سفارش,
        تکمیل خرید, نهایی کردن خرید, همین حالا بخرید, همین الان بخرید, الان بخرید, انتقال وجه, انتقال پول, ارسال پول,
        خرید اشتراک
        ادائیگی کریں, ابھی ادا کریں, ابھی خریدیں, آرڈر کریں, آرڈر دیں, آرڈر کی تصدیق کریں, ادائیگی کی تصدیق کریں,
        پے کریں, رقم بھیجیں, پیسے بھیجیں, رقم منتقل کریں
        भुगतान करें, भुगतान कीजिए, भुगतान की पुष्टि करें, पे करें, अभी खरीदें, ऑर्डर करें, ऑर्डर दें,
        ऑर्डर की पुष्टि करें, पैसे भेजें, पैसे ट्रांसफर करें, राशि भेजें, सदस्यता खरीदें, दान करें
        পেমেন্ট করুন, পে করুন, পরিশোধ করুন, অর্থ প্রদান করুন, পেমেন্ট নিশ্চিত করুন, এখনই কিনুন, অর্ডার করুন,
        অর্ডার দিন, অর্ডার নিশ্চিত করুন, টাকা পাঠান, দান করুন
        ชำระเงิน, จ่ายเงิน, จ่ายเลย, ยืนยันการชำระเงิน, ยืนยันชำระเงิน, ซื้อเลย, ซื้อทันที, ซื้อตอนนี้, สั่งซื้อ,
        ยืนยันการสั่งซื้อ, ยืนยันคำสั่งซื้อ, โอนเงิน, ยืนยันการโอนเงิน, บริจาคเงิน, บริจาคเลย
        支付, 付款, 购买, 購買, 立即购买, 下单, 提交订单, 转账, 購入,
        注文する, 注文を確定, 支払, 振込, 구매, 결제, 주문하기, 송금
        💳, 💸""",
    "delete": """
        delete, remove, erase, destroy, discard, purge, wipe, trash, drop, uninstall, revoke, terminate, deactivate,
        disable account, close account, cancel subscription, cancel order, cancel membership, unsubscribe, unpublish,
        reset, factory reset, clear all, bin, archive, close my account, close your account, close this account,
        close the account
        löschen, entfernen, vernichten, verwerfen, kündigen, stornieren, widerrufen, deaktivieren, zurücksetzen,
        konto schließen, konto auflösen
        fermer mon compte, fermer le compte, clôturer, cerrar cuenta, cerrar mi cuenta, chiudi account
        supprimer, effacer, retirer, détruire, résilier, annuler la commande, désactiver, désabonner, révoquer
        eliminar, borrar, suprimir, quitar, cancelar suscripción, anular, revocar, desactivar, dar de baja
        elimina, eliminare, cancella, rimuovi, rimuovere, disdici, revoca, disattiva
        excluir, apagar, remover, cancelar assinatura, desativar
        verwijderen, verwijder, wissen, opzeggen, intrekken
        usuń, skasuj, wyczyść, anuluj subskrypcję
        radera, ta bort, avsluta, slet, slett, fjern, poista
        удалить, стереть, убрать, отменить подписку, очистить
        sil, kaldır, iptal et
        видалити, вилучити, стерти, hapus, xóa, usunąć, usunięcie, likwidacja, kasuj
        حذف, احذف, إزالة, מחק, מחיקת, מחיקה, پاک کردن, پاک کنید, ڈیلیٹ, ہٹائیں, مٹائیں
        हटाएं, हटाएँ, हटा दें, मिटाएं, मिटाएँ, डिलीट करें, মুছুন, মুছে ফেলুন, মুছে দিন, ডিলিট করুন, ลบ
        删除, 刪除, 移除, 注销, 清空, 取消订阅, 削除, 消去, 退会, 解約, 삭제, 탈퇴, 제거
        🗑, 🚮""",
    "delete_all": """
        account, profile, user, everything, permanently, forever, irreversibly, all data, my data, repository, repo,
        organization, organisation, workspace, project, database, site, website, domain, factory, disk, volume, server,
        delete all, remove all, erase all, wipe all, destroy all, purge all, uninstall all, delete them all,
        wipe device, erase device, wipe phone, wipe this device, erase this device, wipe data, erase data
        alle löschen, alle entfernen, alle vernichten, alle nachrichten, alle dateien, tous, toutes, todos, todas,
        tutti, tutte, alle verwijderen, alle wissen, wszystko, wszystkie, ta bort alla, radera alla, poista kaikki,
        все, всё, tümünü, hepsini, 全部, すべて, 全て, 모두, 전체
        konto, benutzerkonto, alles, endgültig, dauerhaft, unwiderruflich, alle daten
        compte, définitivement, tout, toutes les données
        cuenta, permanentemente, definitivamente, todo, todos los datos
        account utente, tutto, conta, tudo, definitief, permanent, konto użytkownika, trwale, аккаунт, учётную запись,
        навсегда, hesap, hesabı, kalıcı olarak
        hesabımı, hesabını, konta, учетная запись
        акаунт, обліковий запис, назавжди, остаточно, усе, всі, akun, permanen, semua, tài khoản, vĩnh viễn,
        tất cả, حساب, الحساب, حسابي, حسابك, نهائيا, الكل, חשבון, החשבון, לצמיתות, הכל, حسابم, اکانت, برای همیشه,
        اکاؤنٹ, کھاتہ, مستقل طور پر, खाता, खाते, अकाउंट, स्थायी रूप से, हमेशा के लिए, सभी, सब कुछ, অ্যাকাউন্ট,
        একাউন্ট, স্থায়ীভাবে, চিরতরে
        账户, 账号, 帳號, 永久, アカウント, 完全に, 계정, 영구""",
    "send": """
        send, publish, post, share, reply, forward, tweet, broadcast, release, deploy, merge, go live, submit review,
        invite, submit application, send message, submit vote, vote
        senden, absenden, abschicken, verschicken, veröffentlichen, teilen, antworten, einladen, posten
        envoyer, publier, partager, répondre, inviter, transférer, diffuser
        enviar, publicar, compartir, responder, invitar, reenviar
        invia, inviare, pubblica, condividi, rispondi, compartilhar
        versturen, verzenden, verstuur, publiceren, delen, plaatsen
        wyślij, opublikuj, udostępnij, skicka, publicera, dela, lähetä, julkaise, udgiv
        отправить, опубликовать, поделиться, ответить
        gönder, yayınla, paylaş
        发送, 發送, 发布, 發佈, 分享, 送信, 投稿, 公開, 共有, 보내기, 게시, 공유""",
    "permit": """
        authorize, authorise, grant, grant access, allow access, give access, approve, accept and continue,
        sign contract
        autorisieren, zugriff erlauben, genehmigen, freigeben, autoriser, autorizar, autorizza, conceder, toestaan
        zezwól, autoryzuj, разрешить, авторизовать, 授权, 授權, 同意并继续, 許可, 承認, 승인, 허용""",
    "submit": """
        submit, confirm, save, apply, sign up, register, sign in, log in, login, book, reserve, accept, agree
        bestätigen, speichern, anmelden, einloggen, registrieren, buchen, reservieren, zustimmen, übernehmen
        soumettre, valider, confirmer, enregistrer, se connecter, s'inscrire, réserver, accepter
        confirmar, guardar, iniciar sesión, registrarse, reservar, aceptar, salvar, entrar
        conferma, salva, accedi, registrati, prenota, accetta
        bevestigen, opslaan, inloggen, registreren, zatwierdź, zapisz, zaloguj, bekräfta, spara
        подтвердить, сохранить, войти, kaydet, onayla
        提交, 确认, 確認, 保存, 登录, ログイン, 확인, 저장, 로그인""",
    "dismiss": """
        cancel, close, no, back, dismiss, not now, keep, later, no thanks, never mind, go back, skip, x
        abbrechen, schließen, nein, zurück, später, annuler, fermer, non, retour, plus tard, cancelar, cerrar, volver
        annulla, chiudi, indietro, fechar, voltar, annuleren, sluiten, nee, terug, anuluj, zamknij, nie, wróć
        avbryt, stäng, nej, отмена, закрыть, нет, назад, iptal, kapat, hayır,
        vazgeç, geri, não, agora não, no grazie, nie teraz, скасувати, закрити, ні, не зараз, batal, batalkan, tutup,
        tidak, kembali, nanti, hủy, huỷ, hủy bỏ, đóng, không, quay lại, để sau
        إلغاء, إلغاء الأمر, إغلاق, لا, رجوع, ليس الآن, لاحقا, ביטול, בטל, סגור, סגירה, לא, חזרה, לא עכשיו
        لغو, انصراف, بستن, خیر, نه, بازگشت, منسوخ کریں, بند کریں, نہیں, واپس
        रद्द करें, बंद करें, नहीं, वापस, अभी नहीं, বাতিল, বাতিল করুন, বন্ধ করুন, না, ফিরে যান
        ยกเลิก, ปิด, ไม่, กลับ, ย้อนกลับ, ไว้ทีหลัง
        取消, 关闭, キャンセル, 閉じる, 취소, 닫기
        ×, ✕, ✖, ✗, ✘, ⨯, ❌""",
    "checkout": """
        checkout, payment, pay, billing, purchase, buy, order confirm, place order, cart payment, donate, transfer
        kasse, bezahlung, zahlung, zahlen, bezahlen, paiement, caisse, pago, pagos, pagar, pagamento, cassa, betaling,
        afrekenen, betalen, płatność, platnosc, kassa, betalning, оплата, ödeme, 支付, 结算, 決済, 결제""",
    "card": """
        cardnumber, card number, cardno, card no, cc number, ccnumber, ccnum, cc num, cc name, cc exp, cc exp month,
        cc exp year, cc csc, ccexp, cccsc, cccvc, cccvv, cvc, cvc2, cvv, cvv2, csc, card code, card cvc, card cvv,
        security code, card security code, card expiry, card expiration, card verification, credit card, debit card,
        creditcard, pan, card holder, cardholder, name on card, card details, card payment, payment card
        kreditkarte, kartennummer, kreditkartennummer, prüfnummer, kartenprüfnummer, karteninhaber
        numéro de carte, carte bancaire, carte de crédit, cryptogramme
        número de tarjeta, tarjeta de crédito, numero tarjeta, código de seguridad
        numero carta, carta di credito, número do cartão, cartão de crédito, kaartnummer, numer karty, номер карты
        kart numarası, 卡号, カード番号, 카드번호, iban, account number, routing number, sort code""",
    "code": """
        one time code, onetimecode, otp, totp, 2fa, mfa, verification code, security token, auth code, passcode,
        sms code
        einmalcode, bestätigungscode, sicherheitscode, tan, mtan, pin, code de vérification, código de verificación
        codice di verifica, verificatiecode, kod weryfikacyjny, код подтверждения, 验证码, 認証コード, 인증번호""",
}  # fmt: skip

# What ends an account, in words that say nothing of the kind by themselves: `delete` and `delete_all` at once.
_ENDS_ACCOUNT = """
    eliminar perfil, excluir perfil, elimina profilo, supprimer le profil, supprimer mon profil, usuń profil,
    profil löschen, profili sil, удалить профиль, видалити профіль
    encerrar conta, encerrar a conta, encerrar minha conta, fechar conta, fechar a conta, fechar minha conta,
    cancelar conta, cancelar minha conta, eliminar conta, apagar conta
    chiudi account, chiudi l'account, chiudi il conto, chiudi conto, chiudere l'account, elimina il conto
    account sluiten, account opheffen, account beëindigen, rekening sluiten, rekening opheffen
    zamknij konto, zamknij moje konto, zlikwiduj konto, zamknięcie konta
    hesabı kapat, hesabımı kapat, hesabını kapat
    закрыть аккаунт, закрыть счёт, закрыть учётную запись, закрити рахунок, закрити акаунт, закрити обліковий запис
    tutup akun, tutup rekening, nonaktifkan akun, đóng tài khoản, hủy tài khoản, huỷ tài khoản, khóa tài khoản
    إغلاق الحساب, إغلاق حسابي, إلغاء الحساب, إلغاء حسابي, تعطيل الحساب
    סגור חשבון, סגור את החשבון, סגירת חשבון, סגירת החשבון, הסר חשבון, ביטול חשבון
    بستن حساب, بستن حساب کاربری, اکاؤنٹ بند کریں, اکاؤنٹ ختم کریں, اکاؤنٹ حذف کریں, کھاتہ بند کریں
    खाता बंद करें, अकाउंट बंद करें, অ্যাকাউন্ট বন্ধ করুন, একাউন্ট বন্ধ করুন
    ลบบัญชี, ลบโปรไฟล์, ลบถาวร, ลบทั้งหมด, ลบข้อมูลทั้งหมด, ปิดบัญชี, ยกเลิกบัญชี, ยืนยันการลบบัญชี"""

# Words that stand in other names, too ("payment methods", "unpaid"): they say it only where they are the whole name,
# beside an amount at most.
_WHOLE = """
    beli, bayar, thanh toán, mua, mua hàng, đặt hàng, chuyển tiền, chuyển khoản, trả tiền, ซื้อ,
    دفع, شراء, اشتر, اشتري, שלם, שלמו, לרכישה, קנה, קנו, پرداخت, خرید, بخرید, خریدیں, ادا کریں,
    खरीदें, কিনুন, opłać"""
_CURRENCIES_WRITTEN = "rp idr vnd vnđ đ inr rs bdt irr ils sar aed egp thb บาท ريال تومان روپے রূপী টাকা eur usd"

# Letters of other alphabets that are drawn like Latin ones.
_LOOKALIKES = str.maketrans(
    "аеорсухіјѕԁԛԝһӏкмтвнгɡαβεικνορτυχωʟɩոսցԍօ",
    "aeopcyxijsdqwhlkmtbhrgabeiknoptuxwlinuggo",
)
# Vowels of Indian scripts and of Thai are signs on letters: Python counts them among neither letters nor digits.
_VOWEL_SIGNS = "\u0900-\u0963\u0970-\u0e3a\u0e47-\u0e4e"
_WORD = re.compile(rf"(?:[^\W_]|[{_VOWEL_SIGNS}])+")
_VOWEL = re.compile(f"[{_VOWEL_SIGNS}]")
_THAI = re.compile("[\u0e00-\u0e3a\u0e40-\u0e7f]+")
# Arabic letters that Persian and Urdu keyboards write differently, a line that only lengthens a word, a candrabindu,
# and a dotless i: small letters make a dotted one of Turkish's dotless capital.
_SAME_LETTERS = str.maketrans(
    "\u064a\u0649\u0643\u06c1\u0629\u0901\u0981ı", "\u06cc\u06cc\u06a9\u0647\u0647\u0902\u0982i", "\u0640"
)
_SIGN = re.compile("[\u1100-\u11ff\u3040-\u9fff\uac00-\ud7af]")
_DOING: frozenset[Meaning] = frozenset({"pay", "delete", "send", "permit"})
# "Bid $100", "Send 0.5 BTC": a verb that means little by itself, and money after it.
_MONEY = re.compile(
    r"\b(?:bid|send|tip|bet|stake|deposit|order|gift|bieten|senden|envoyer|enviar|invia)\b"
    r"[^\w$€£¥₹₿]{0,3}(?:\w{1,12} ){0,2}[a-z]{0,3}"
    r"(?:[$€£¥₹₿] ?[0-9]|[0-9][0-9.,]{0,15} ?"
    r"(?:[$€£¥₹₿]|(?:usd|eur|gbp|chf|jpy|btc|eth|usdt|usdc|sol|dollars?|euros?)\b))"
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def bounded(text: str) -> str:
    """The two ends of a text: no name is longer."""
    return text if len(text) <= HEAD_CHARS + TAIL_CHARS else f"{text[:HEAD_CHARS]} {text[-TAIL_CHARS:]}"


def folded(text: str, *, humps: bool = False) -> str:
    """As a person would read it aloud: no case, accents, widths or invisible characters. Cut to what a name may be.

    `humps` takes `deleteItem` apart.
    """
    text = unicodedata.normalize("NFKC", clean(bounded(text)))
    text = _CAMEL.sub(" ", text) if humps else text
    apart = unicodedata.normalize("NFD", text.casefold())
    if apart.isascii():
        return apart
    plain = "".join(
        letter for letter, before in zip(apart, " " + apart, strict=False) if not _is_accent(letter, before)
    )
    return plain.translate(_SAME_LETTERS)


def _is_accent(letter: str, before: str) -> bool:
    """Not a vowel sign among its own letters: without them, words of Hindi or Thai could not be told apart."""
    if unicodedata.category(letter) != "Mn":
        return False
    return bool(unicodedata.combining(letter)) or not (_VOWEL.match(letter) and _VOWEL.match(before))


def meanings(text: str) -> frozenset[Meaning]:
    """Everything that a name may mean; `delete_all` only beside `delete`."""
    return _meanings(bounded(text))


@lru_cache(1024)
def _meanings(text: str) -> frozenset[Meaning]:
    plain = folded(text)
    phrases = _grams(plain) | _grams(folded(text, humps=True))
    found: set[Meaning] = {meaning for phrase in phrases for meaning in _MEANINGS.get(phrase, ())}
    if _without_amount(plain) in _PAYS_ALONE:
        found.add("pay")
    if not plain.isascii():
        found |= {meaning for sign, meaning in _SIGNS if sign in plain}
    if _MONEY.search(plain):
        found.add("pay")
    if "delete" not in found:
        found.discard("delete_all")
    return frozenset(found)


def is_dismissal(name: str) -> bool:
    """Whether a name says no and nothing else: "Cancel", not "Cancel subscription"."""
    plain = folded(name)
    whole = _words_of(plain) or plain.strip()
    says_no = "dismiss" in _MEANINGS.get(whole, ()) or (whole, "dismiss") in _SIGNS
    return says_no and not meanings(name) & _DOING


def is_wordless(name: str) -> bool:
    """Whether a name is signs at most: an arrow, a tick."""
    return not _words_of(folded(name))


def _words_of(plain: str) -> str:
    return " ".join(_WORD.findall(plain))


def _without_amount(plain: str) -> str:
    words = _WORD.findall(plain)
    return " ".join(one for one in words if one not in _CURRENCIES and not any(sign.isdigit() for sign in one))


def _grams(plain: str) -> set[str]:
    words = _WORD.findall(plain)[:MOST_WORDS]
    looks = [word.translate(_LOOKALIKES) for word in words]
    found: set[str] = set()
    for line in (words, looks) if looks != words else (words,):
        for one in (line, _joined(line)):
            for length in range(1, LONGEST_PHRASE + 1):
                found.update(" ".join(one[at : at + length]) for at in range(len(one) - length + 1))
    for word in words:
        found.update(_beginnings(word))
    return found


def _beginnings(word: str) -> Iterator[str]:
    """Thai sets no blanks between words. What such a run begins with counts: a verb does on a button, while "ways to
    pay" has it in its middle."""
    if run := _THAI.match(word):
        yield from (run[0][:length] for length in range(1, min(len(run[0]), LONGEST_THAI) + 1))


def _joined(words: list[str]) -> list[str]:
    """`d e l e t e` is one word."""
    out: list[str] = []
    run = ""
    for word in words:
        if len(word) == 1:
            run += word
            continue
        out += [run] if run else []
        out.append(word)
        run = ""
    return [*out, run] if run else out


def _tables() -> tuple[dict[str, set[Meaning]], list[tuple[str, Meaning]]]:
    """Phrases of words, and signs: pictures, and scripts that set no blanks between words."""
    phrases: dict[str, set[Meaning]] = {}
    signs: list[tuple[str, Meaning]] = []
    for meaning, text in _PHRASES.items():
        for plain in _listed(text):
            if is_wordless(plain) or _is_sign(plain):
                signs.append((plain, meaning))
            else:
                phrases.setdefault(_words_of(plain), set()).add(meaning)
    for plain in _listed(_ENDS_ACCOUNT):
        phrases.setdefault(_words_of(plain), set()).update(("delete", "delete_all"))
    return phrases, signs


def _listed(text: str) -> list[str]:
    return [plain for phrase in re.split(r"[,\n]", text) if (plain := folded(phrase).strip())]


def _is_sign(plain: str) -> bool:
    return _SIGN.search(plain) is not None


_MEANINGS, _SIGNS = _tables()
_CURRENCIES = frozenset(folded(_CURRENCIES_WRITTEN).split())
_PAYS_ALONE = {_words_of(plain) for plain in _listed(_WHOLE)}
