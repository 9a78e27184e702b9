"""The person's own pages: the files of `ui`, and how a page of them gets its key.

Above: http, which lets the files through without a key: they hold no data. Below: guard's passes, the package's files.
`pilothouse dashboard` asks for a ticket with the person's key and puts it behind the # of an address, which no server
and no log sees; the page exchanges it, once, for a pass of its own. There is no cookie: browsers send those of one
local port to every other (M).
"""

import mimetypes
from importlib import resources
from typing import Annotated

import msgspec
from msgspec import Meta
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope

from pilothouse.doors.address import Address, told
from pilothouse.doors.http import bearer
from pilothouse.doors.parcel import Refused
from pilothouse.doors.person import PersonOnly
from pilothouse.errors import Failure
from pilothouse.guard.passes import PASS_S, TICKET_S, Passes

PAGE = "dashboard.html"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=(), usb=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
_KINDS = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".svg": "image/svg+xml"}


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    ticket: Annotated[str, Meta(max_length=200)]


def dashboard_routes(passes: Passes, person: PersonOnly) -> list[BaseRoute]:
    files = read_files()

    async def page(scope: Scope, receive: Receive) -> Response:
        return _file(files, PAGE)

    async def file(scope: Scope, receive: Receive) -> Response:
        return _file(files, scope["path_params"]["name"])

    async def home(scope: Scope, receive: Receive) -> Response:
        return RedirectResponse("/dashboard", 307, {"cache-control": "no-store"})

    async def entered(scope: Scope, receive: Receive) -> Response:
        return told({"pass": passes.redeem(_ticket(scope["pilothouse.body"])), "valid_s": PASS_S})

    async def ticket(scope: Scope, receive: Receive) -> Response:
        return told({"ticket": passes.new_ticket(passes.holder(bearer(scope))), "valid_s": int(TICKET_S)})

    async def renewed(scope: Scope, receive: Receive) -> Response:
        """A page's own, for longer; whoever comes with the key itself gets one too."""
        return told({"pass": passes.new_pass(passes.holder(bearer(scope))), "valid_s": PASS_S})

    return [
        Route("/", Address(_anybody, GET=home)),
        Route("/dashboard", Address(_anybody, GET=page)),
        Route("/dashboard/enter", Address(_anybody, POST=entered)),
        Route("/ui/{name}", Address(_anybody, GET=file)),
        Route("/api/dashboard/ticket", Address(person.check, POST=ticket)),
        Route("/api/dashboard/pass", Address(person.check, POST=renewed)),
    ]


def read_files() -> dict[str, tuple[bytes, str]]:
    """Every file of the pages, by its name: what is not in here cannot be asked for."""
    folder = resources.files("pilothouse") / "ui"
    found = {one.name: one.read_bytes() for one in folder.iterdir() if one.is_file()}
    return {name: (data, _kind(name)) for name, data in found.items()}


def _kind(name: str) -> str:
    ending = name[name.rfind(".") :]
    return _KINDS.get(ending) or mimetypes.guess_type(name)[0] or "application/octet-stream"


def _file(files: dict[str, tuple[bytes, str]], name: str) -> Response:
    if name not in files:
        raise Failure("not_found", "there is no such file", suggestions=["the dashboard is at /dashboard"])
    data, kind = files[name]
    return Response(data, 200, HEADERS, kind)


def _anybody(scope: Scope) -> None:
    return None


def _ticket(raw: bytes) -> str:
    try:
        return msgspec.json.decode(raw[:1000], type=Entry).ticket
    except (msgspec.MsgspecError, UnicodeDecodeError):
        hint = 'send {"ticket": "…"}'
        raise Refused(400, Failure("bad_request", "this is no ticket", suggestions=[hint])) from None
