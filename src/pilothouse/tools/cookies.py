"""Cookies of the session."""

import re
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from pilothouse.browser import cookies as jar
from pilothouse.browser.session import Session
from pilothouse.errors import Failure
from pilothouse.result import Result, counted
from pilothouse.tool import Access, Url, tool
from pilothouse.tools.bulk import bounded

Name = Annotated[str, Meta(max_length=4096)]
Domain = Annotated[str, Meta(max_length=255)]
Path = Annotated[str, Meta(max_length=2000)]
_HOST = re.compile(r"\.?[\w.-]+|\[[0-9a-fA-F:.]+\]")
Address = Annotated[str, Meta(max_length=65_536)]


class Cookies(msgspec.Struct, omit_defaults=True):
    total: int
    cookies: list[dict[str, Any]]
    path: str = ""


class Set(msgspec.Struct):
    name: str
    domain: str


class Deleted(msgspec.Struct):
    deleted: int


async def _those(session: Session, args: Any) -> list[str]:
    """The domains of the cookies that fit."""
    urls = args.urls if hasattr(args, "urls") else [args.url] if args.url else []
    found = await _found(session, args.name, args.domain, urls, getattr(args, "path", ""))
    return list(dict.fromkeys(one["domain"] for one in found))


async def _that(session: Session, args: Any) -> list[str]:
    if args.domain:
        return [args.domain] if _HOST.fullmatch(args.domain) else []
    return [urlsplit(args.url or _page_of(session)).hostname or ""]


@tool(Access.SENSITIVE, live=False, reveals=True, places=_those, example={})
async def get_cookies(
    session: Session,
    urls: Annotated[list[Address], Meta(max_length=50)] = [],
    domain: Domain = "",
    name: Name = "",
    limit: Annotated[int, Meta(ge=1, le=5000)] = 200,
) -> Result[Cookies]:
    """Cookies with their values, HttpOnly ones included."""
    found, withheld = await _sorted(session, name, domain, urls)
    shown = [_plain(one) for one in found[:limit]]
    text = f"{len(shown)} of {len(found)} cookies" if found else "no cookies"
    if withheld:
        whose = ", ".join(dict.fromkeys(one["domain"].lstrip(".")[:100] for one in withheld[:20]))
        text += f"; {len(withheld)} left out: the rules keep those of {whose} from this session"
    lines = "\n".join(_line(one) for one in shown)
    page, path, note = bounded(session, "cookies.txt", lines, reveals=True)
    return Result(f"{text}; {note}" if note else text, Cookies(len(found), [] if path else shown, path), page=page)


@tool(
    Access.SENSITIVE,
    live=False,
    places=_that,
    example={"name": "theme", "value": "dark", "domain": "example.com"},
    synonyms={"httpOnly": "http_only", "sameSite": "same_site", "expirationDate": "expires"},
)
async def set_cookie(
    session: Session,
    name: Name,
    value: Annotated[str, Meta(max_length=4096)],
    url: Url = "",
    domain: Annotated[Domain, Meta(description="or url, else the current page; .domain: subdomains too")] = "",
    path: Path = "",
    expires: Annotated[float, Meta(ge=0, description="epoch seconds")] | None = None,
    http_only: bool = False,
    secure: bool = False,
    same_site: Literal["Strict", "Lax", "None"] | None = None,
) -> Result[Set]:
    """Set a cookie."""
    if domain and not _HOST.fullmatch(domain):
        raise Failure("bad_request", f"{domain[:80]!r} is no host name", suggestions=["like shop.test or .shop.test"])
    await session.open()
    if session.bars(domain or url or _page_of(session)):
        steps = ["work with cookies of a site that this session may visit", "or ask the person to allow the site"]
        raise Failure("denied", "cookies of this site are out of this session's reach", suggestions=steps)
    place = {"domain": domain} if domain else {"url": url or _page_of(session)}
    optional = {"path": path, "expires": expires, "sameSite": same_site}
    flags = {"httpOnly": http_only, "secure": secure}
    given = {key: one for key, one in optional.items() if one not in ("", None)}
    await jar.write(session.context, [{"name": name, "value": value, **place, **flags, **given}])
    where = domain or place["url"]
    return Result(f"set for {where}", Set(name, where))


@tool(Access.SENSITIVE, live=False, places=_those, example={"name": "theme"})
async def delete_cookies(
    session: Session,
    name: Name = "",
    domain: Domain = "",
    path: Path = "",
    url: Address = "",
    all: bool = False,  # noqa: A002 (what it is)
) -> Result[Deleted]:
    """Delete the session's cookies that fit, or all."""
    if not (name or domain or path or url or all):
        raise Failure(
            "bad_request", "nothing says which cookies", suggestions=["give name, domain, path or url, or all=true"]
        )
    found = await _found(session, name, domain, [url] if url else [], path)
    await jar.delete(session.context, found)
    count = counted(len(found), "cookie")
    return Result(f"deleted {count}" if found else "no cookie fits", Deleted(len(found)))


async def _found(session: Session, name: str, domain: str, urls: list[str], path: str = "") -> list[jar.Cookie]:
    """Those that fit; not those of domains that are out of reach."""
    return (await _sorted(session, name, domain, urls, path))[0]


async def _sorted(
    session: Session, name: str, domain: str, urls: list[str], path: str = ""
) -> tuple[list[jar.Cookie], list[jar.Cookie]]:
    """Those that fit, and those that would but are of domains out of reach. In the person's own
    Chrome, whose cookies are theirs, only those of the session's pages, unless a site is named."""
    await session.open()
    if session.options.browser == "extension" and not (domain or urls):
        urls = [tab.url for tab in session.tabs if tab.url.startswith("http")] or ["http://nowhere.invalid/"]
    found = [one for one in await jar.read(session.context) if _fits(one, name, domain, urls, path)]
    barred = {one for one in {cookie["domain"] for cookie in found} if session.bars(one)}
    return [one for one in found if one["domain"] not in barred], [one for one in found if one["domain"] in barred]


def _fits(cookie: jar.Cookie, name: str, domain: str, urls: list[str], path: str = "") -> bool:
    """A domain stands for its subdomains too."""
    wanted, own = domain.lower().lstrip("."), cookie["domain"].lower().lstrip(".")
    return (
        (not name or cookie["name"] == name)
        and (not wanted or own == wanted or own.endswith(f".{wanted}"))
        and (not path or cookie.get("path") == path)
        and (not urls or any(jar.goes_to(cookie, url) for url in urls))
    )


def _page_of(session: Session) -> str:
    url = session.current.url if session.current else ""
    if not url.startswith(("http://", "https://")):
        raise Failure("bad_request", "the current page has no cookies", suggestions=["give url or domain"])
    return url


def _plain(cookie: jar.Cookie) -> dict[str, Any]:
    return {
        "name": cookie["name"],
        "value": cookie["value"],
        "domain": cookie["domain"],
        "path": cookie.get("path", "/"),
        "expires": None if cookie.get("session") else cookie.get("expires"),
        "http_only": bool(cookie.get("httpOnly")),
        "secure": bool(cookie.get("secure")),
        "same_site": cookie.get("sameSite"),
    }


def _line(one: dict[str, Any]) -> str:
    flags = [word for word, on in (("HttpOnly", one["http_only"]), ("Secure", one["secure"])) if on]
    flags += [f"SameSite={one['same_site']}"] if one["same_site"] else []
    return " ".join([f"{one['name']}={one['value']}", one["domain"] + one["path"], *flags])
