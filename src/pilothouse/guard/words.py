"""What the words on a button mean, in several languages: paying, deleting, sending, permitting, or going back.

Above: sensitive. Below: result. Names are compared as whole words after everything has been undone that looks the same
to a person: case, accents, width, invisible characters, letters of other alphabets, l e t t e r s set apart.
"""

import re
import unicodedata
from functools import lru_cache
from typing import Literal

from pilothouse.result import clean

Meaning = Literal["pay", "delete", "delete_all", "send", "permit", "submit", "dismiss", "checkout", "card", "code"]

HEAD_CHARS = 400
TAIL_CHARS = 200
MOST_WORDS = 80
LONGEST_PHRASE = 4

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

# Letters of other alphabets that are drawn like Latin ones.
_LOOKALIKES = str.maketrans(
    "аеорсухіјѕԁԛԝһӏкмтвнгɡαβεικνορτυχωʟɩոսցԍօ",
    "aeopcyxijsdqwhlkmtbhrgabeiknoptuxwlinuggo",
)
_WORD = re.compile(r"[^\W_]+")
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
    return "".join(letter for letter in apart if unicodedata.category(letter) != "Mn")


def meanings(text: str) -> frozenset[Meaning]:
    """Everything that a name may mean; `delete_all` only beside `delete`."""
    return _meanings(bounded(text))


@lru_cache(1024)
def _meanings(text: str) -> frozenset[Meaning]:
    plain = folded(text)
    phrases = _grams(plain) | _grams(folded(text, humps=True))
    found: set[Meaning] = {meaning for phrase in phrases for meaning in _MEANINGS.get(phrase, ())}
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


def _grams(plain: str) -> set[str]:
    words = _WORD.findall(plain)[:MOST_WORDS]
    looks = [word.translate(_LOOKALIKES) for word in words]
    found: set[str] = set()
    for line in (words, looks) if looks != words else (words,):
        for one in (line, _joined(line)):
            for length in range(1, LONGEST_PHRASE + 1):
                found.update(" ".join(one[at : at + length]) for at in range(len(one) - length + 1))
    return found


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
        for phrase in re.split(r"[,\n]", text):
            plain = folded(phrase).strip()
            if plain and (is_wordless(plain) or _is_sign(plain)):
                signs.append((plain, meaning))
            elif plain:
                phrases.setdefault(_words_of(plain), set()).add(meaning)
    return phrases, signs


def _is_sign(plain: str) -> bool:
    return _SIGN.search(plain) is not None


_MEANINGS, _SIGNS = _tables()
