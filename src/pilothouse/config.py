"""Every option, declared once: its section, name, type, bounds, default and meaning.

Above: everyone who reads a `Config`; the docs are printed from `options()` and `table_keys()`. Below: errors. A value
comes from the default, then config.toml, then `PILOTHOUSE_SECTION_KEY`, then a flag; the last one wins, and each is
checked alone, so that a complaint names the place where the mistake stands. What a `pattern` asks for stands beside it
in words (`wanted`): nobody is shown a regular expression.
"""

import ipaddress
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, cast, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta

from pilothouse.errors import Failure


class Server(msgspec.Struct, frozen=True):
    host: Annotated[
        str, Meta(description="Address to listen on. One that is not loopback needs allowed_hosts and tls_proxy.")
    ] = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65535, description="Port of every door; 0 picks a free one.")] = 8777
    allowed_hosts: Annotated[
        list[str],
        Meta(description="Further host[:port] names by which this server may be called, as behind a TLS proxy."),
    ] = []
    tls_proxy: Annotated[
        str, Meta(description="IP address of the machine whose TLS proxy calls; nobody else may from outside this one.")
    ] = ""
    tools: Annotated[
        str, Meta(description="Tools that are listed: core, all, or names and sets with commas (--tools).")
    ] = "core"
    rest: Annotated[bool, Meta(description="Open the REST door, and /commands and /ws-message.")] = True
    debug: Annotated[bool, Meta(description="Tell the state of a session at /debug/session/{id}.")] = False


class Browser(msgspec.Struct, frozen=True):
    path: Annotated[
        str, Meta(description="Path of the browser; empty looks in the usual places (PILOTHOUSE_CHROME sets it too).")
    ] = ""
    sandbox: Annotated[
        Literal["auto"] | bool, Meta(description="Chrome's sandbox; auto switches it off, with a warning, for root.")
    ] = "auto"
    headless: Annotated[bool, Meta(description="Run without a window.")] = True
    prewarm: Annotated[bool, Meta(description="Start Chrome with the daemon, not with the first session.")] = False
    args: Annotated[
        list[str], Meta(description="Further Chrome arguments, of those that change nothing about safety.")
    ] = []


class Limits(msgspec.Struct, frozen=True):
    sessions: Annotated[int, Meta(ge=1, description="Open sessions at a time.")] = 10
    tabs_per_session: Annotated[int, Meta(ge=1, description="Open tabs in one session.")] = 50
    idle_minutes: Annotated[float, Meta(gt=0, description="A session that nobody used for so long is closed.")] = 30
    tool_timeout_ms: Annotated[int, Meta(ge=1, le=600_000, description="Time of a call that names none.")] = 30_000
    requests_per_minute: Annotated[
        int, Meta(ge=0, le=1_000_000, description="Calls of one agent key in a minute; 0 sets no limit.")
    ] = 600
    memory_mb: Annotated[
        int, Meta(ge=0, description="Megabytes of all browsers above which no session is opened; 0 sets no limit.")
    ] = 2048
    session_memory_mb: Annotated[
        int, Meta(ge=0, description="Megabytes above which a session loses its heaviest page; 0 sets no limit.")
    ] = 1024
    busy_seconds: Annotated[
        float, Meta(ge=0, description="Script that keeps a page busy and silent for so long is broken off; 0 never.")
    ] = 30


class Snapshot(msgspec.Struct, frozen=True):
    budget: Annotated[int, Meta(ge=100, description="Tokens of a snapshot whose call names no budget.")] = 2_500


class Files(msgspec.Struct, frozen=True):
    roots: Annotated[list[str], Meta(description="Directories that files may be uploaded from.")] = []
    quota_mb: Annotated[int, Meta(ge=1, description="Megabytes of files that one session may keep.")] = 500
    keep_hours: Annotated[
        float, Meta(ge=0, description="A closed session's files are removed after so many hours.")
    ] = 24


class Network(msgspec.Struct, frozen=True):
    hosts: Annotated[
        dict[str, str], Meta(description="Names and the addresses they stand for in sessions, like /etc/hosts.")
    ] = {}
    body_max_bytes: Annotated[int, Meta(ge=0, description="Bytes shown of a request's or response's body.")] = 102_400


class Approvals(msgspec.Struct, frozen=True):
    timeout_s: Annotated[
        float, Meta(ge=1, le=3_600, description="A question that nobody answers for so many seconds is denied.")
    ] = 60
    client_answers: Annotated[
        Literal["never", "low", "medium"],
        Meta(description="Up to which risk the dialog of an agent's own client may approve."),
    ] = "never"


class Log(msgspec.Struct, frozen=True):
    level: Annotated[Literal["debug", "info", "warning", "error"], Meta(description="What goes to stderr.")] = "info"
    format: Annotated[Literal["json", "text"], Meta(description="How a line of the log is written.")] = "json"
    file: Annotated[str, Meta(description="A file that gets the log as well; empty for none.")] = ""
    file_max_bytes: Annotated[
        int, Meta(ge=10_000, description="The log file begins anew at this size; the last three are kept.")
    ] = 10_000_000
    max_bytes: Annotated[int, Meta(ge=10_000, description="The audit log begins a new file at this size.")] = 20_000_000
    retention_days: Annotated[int, Meta(ge=0, description="Days that old audit files are kept; 0 keeps them.")] = 90


class Size(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    width: Annotated[int, Meta(ge=100, le=10_000)]
    height: Annotated[int, Meta(ge=100, le=10_000)]


# What a person may read of a proxy's address, whatever stands before the last @.
_PROXY = re.compile(
    r"((?:https?|socks[0-9]?[ah]?)://)?(.*@)?((?:\[[0-9a-f:.]+\]|[^\s/?#@:\\]+)(?::[0-9]{1,5})?/?)", re.DOTALL | re.I
)
HIDDEN = "[redacted]"
# Without an example of a password: that would be masked on its way out.
PROXY_HINT = "write it as socks5://host:port or http://host:port; user:password go before the host, with an @"
PROXY_SCHEMES = ("http", "socks", "socks5", "socks5h", "socks4", "socks4a")


def shown_proxy(address: str) -> str:
    """A proxy's address for people and logs: user and password are masked, and all of it if it is no address."""
    found = _PROXY.fullmatch(address.strip())
    return f"{found[1] or ''}{HIDDEN + '@' if found[2] else ''}{found[3]}" if found else HIDDEN if address else ""


_PROXY_HOST = re.compile(r"\[[0-9a-f:.]+\]|[\w-]+(\.[\w-]+)*\.?", re.I)


def proxy_fault(address: str) -> str:
    """What keeps this from being the address of a proxy; empty if nothing does. It is not repeated: it may hold a
    password."""
    scheme, has_scheme, rest = address.strip().partition("://")
    if has_scheme and scheme.lower() not in PROXY_SCHEMES:
        return "its scheme is not http, socks5 or socks4"
    place = (rest if has_scheme else scheme).removesuffix("/").rpartition("@")[2]
    host, colon, port = place.rpartition(":")
    if not colon or port.endswith("]"):
        host, colon, port = place, "", ""
    if not _PROXY_HOST.fullmatch(host):
        return "it has no host"
    if colon and not (port.isascii() and port.isdigit() and 0 < int(port[:6]) <= 65_535):
        return "its port is not one from 1 to 65535"
    return "" if has_scheme or colon else "a name alone could be anything: say its port"


NAME = "^[a-z0-9][a-z0-9_-]{0,63}$"
A_NAME = "lower-case letters, digits, - and _, at most 64, such as work-2"


class Profile(msgspec.Struct, frozen=True):
    id: Annotated[
        str, Meta(pattern=NAME, extra={"wanted": A_NAME}, description="By what it is called: letters, digits, - and _.")
    ]
    name: Annotated[str, Meta(max_length=200, description="What people call it; empty is its id.")] = ""
    user_data_dir: Annotated[
        str, Meta(max_length=1000, description="Where Chrome keeps its data; relative to profiles/, empty is its id.")
    ] = ""
    proxy_server: Annotated[
        str,
        Meta(
            max_length=2000,
            pattern=r"^$|^((http|socks5h?|socks4a?)://)?([^@/?#\s]*@)?(\[[0-9a-fA-F:.]+\]|[^\s/?#@:\\]+)(:[0-9]{1,5})?/?$",
            extra={"wanted": f"an address of a proxy, or nothing; {PROXY_HINT}"},
            description="Proxy behind the network boundary, such as socks5://user:password@host:1080.",
        ),
    ] = ""
    lang: Annotated[
        str,
        Meta(
            pattern="^$|^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$",
            extra={"wanted": "a language such as de or de-DE, or nothing"},
            description="Language, such as de-DE.",
        ),
    ] = ""
    timezone: Annotated[
        str,
        Meta(
            pattern="^$|^[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*$",
            extra={"wanted": "a time zone such as Europe/Berlin or UTC, or nothing"},
            description="Time zone, such as Europe/Berlin.",
        ),
    ] = ""
    headless: Annotated[bool | None, Meta(description="Run without a window; absent is as browser.headless.")] = None
    viewport: Annotated[Size | None, Meta(description="Size of its pages; absent is 1280 x 800.")] = None
    tags: Annotated[
        list[Annotated[str, Meta(max_length=100)]], Meta(max_length=50, description="Words to find it by.")
    ] = []


class Endpoint(msgspec.Struct, frozen=True):
    name: Annotated[
        str,
        Meta(
            pattern=f"^(?!grid$){NAME[1:]}",
            extra={"wanted": f"{A_NAME}, and not grid"},
            description="By what agents call it: letters, digits, - and _; grid is the Selenium Grid's.",
        ),
    ]
    url: Annotated[
        str,
        Meta(
            max_length=2000,
            pattern=r"^(ws|wss|http|https)://[^\s/?#@]+([/?]\S*)?$",
            extra={"wanted": "http://host:9222 or wss://host/path, without user or password in it"},
            description="The browser's WebSocket (ws, wss), or where /json/version tells it (http, https).",
        ),
    ] = "http://127.0.0.1:9222"
    headers: Annotated[
        dict[str, str],
        Meta(description="Headers to send; secret:NAME in one, or in url, stands for a registered secret."),
    ] = {}
    share: Annotated[
        bool,
        Meta(description="All sessions over one connection, each in a context of its own; else one connection each."),
    ] = True
    downloads: Annotated[
        str,
        Meta(max_length=1000, description="A folder of that machine for downloads; empty is in its browser's data."),
    ] = ""


class Grid(msgspec.Struct, frozen=True):
    url: Annotated[
        str,
        Meta(
            max_length=2000,
            pattern=r"^$|^https?://[^\s?#@]+$",
            extra={"wanted": "http://grid.example:4444 or https://…, without user, password, ? or #; or nothing"},
            description="Address of a Selenium Grid; empty is none.",
        ),
    ] = ""
    username: Annotated[str, Meta(max_length=200, description="Who we are for the Grid's router, if it asks.")] = ""
    password: Annotated[
        str, Meta(max_length=2000, description="Its password; secret:NAME stands for a registered secret.")
    ] = ""
    capabilities: Annotated[
        dict[str, Any], Meta(description="What is asked of the Grid beside browserName = chrome.")
    ] = {}
    share: Annotated[
        bool, Meta(description="All sessions are contexts in one browser of the Grid, instead of a browser each.")
    ] = False
    queue_s: Annotated[
        float, Meta(gt=0, le=86_400, description="Seconds after which a place in the Grid's queue is given up.")
    ] = 300
    keep_alive_s: Annotated[
        float,
        Meta(ge=1, le=3_600, description="Seconds between signs of life; well below the Grid's session time-out."),
    ] = 30


class Sluice(msgspec.Struct, frozen=True):
    advertise: Annotated[
        str,
        Meta(
            pattern=r"^$|^[A-Za-z0-9.:-]+$",
            extra={"wanted": "a name or an address such as 10.0.0.5 or agents.example, without http://; or nothing"},
            description="How browsers elsewhere reach this machine's gateways; empty: they go out by themselves.",
        ),
    ] = ""
    listen: Annotated[
        str, Meta(max_length=100, description="Address that their gateways listen on; empty is every one.")
    ] = ""
    nodes: Annotated[
        list[str],
        Meta(description="Addresses or networks (10.0.0.0/8) that may use those gateways; others are cut off."),
    ] = []


_CONTENT_TYPES = "Kinds of pages that get a debug token."
_EXCLUDE_PATHS = "Paths that get none, with all below them."
_BODY_MAX = "Bytes shown of a response's body in a debugged tab."
_A_KIND = {"wanted": "kinds such as text/html, in lower case and without ; and what follows it"}
_A_PATH = {"wanted": "paths such as /health, which begin with /"}
ContentTypes = list[Annotated[str, Meta(pattern="^[a-z0-9.+-]+/[a-z0-9.+-]+$", max_length=100, extra=_A_KIND)]]
Paths = list[Annotated[str, Meta(pattern="^/", max_length=1000, extra=_A_PATH)]]
BodySize = Annotated[int, Meta(ge=0, le=10_000_000)]


class Proxy(msgspec.Struct, frozen=True):
    enabled: Annotated[bool, Meta(description="Open the debug proxy (ENABLE_PROXY sets it too).")] = False
    host: Annotated[str, Meta(description="Address that the proxy listens on.")] = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65535, description="Its port (PROXY_PORT sets it too).")] = 8081
    base_host: Annotated[
        str,
        Meta(
            pattern=r"^[a-z0-9-]+(\.[a-z0-9-]+)*$",
            extra={"wanted": "a host such as localhost or apps.example.com, in lower case, without *, port or http://"},
            description="Cocoons are at {id}.{base_host}; a wildcard name.",
        ),
    ] = "localhost"
    https: Annotated[bool, Meta(description="Browsers come by https, through a TLS proxy in front of ours.")] = False
    public_port: Annotated[int, Meta(ge=0, le=65535, description="The port that browsers use; 0 is ours.")] = 0
    path_mode: Annotated[
        Literal["redirect", "serve"],
        Meta(description="What /proxy/{id}/… does: lead to the cocoon's own host, or serve there (one owner only)."),
    ] = "redirect"
    timeout_s: Annotated[
        float, Meta(gt=0, le=3_600, description="A target that does not begin to answer for so long is given up.")
    ] = 120
    content_types: Annotated[ContentTypes, Meta(description=_CONTENT_TYPES)] = msgspec.field(
        default_factory=lambda: ["text/html"]
    )
    exclude_paths: Annotated[Paths, Meta(description=_EXCLUDE_PATHS)] = msgspec.field(
        default_factory=lambda: ["/health", "/metrics"]
    )
    response_body_max_size: Annotated[BodySize, Meta(description=_BODY_MAX)] = 102_400


LOCAL = "local"  # the user whose machine this is
COCOON_ID = "^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$"
A_COCOON_ID = "lower-case letters, digits and - inside, at most 63, such as shop-2"


class Cocoon(msgspec.Struct, frozen=True):
    id: Annotated[
        str,
        Meta(
            pattern=COCOON_ID,
            extra={"wanted": A_COCOON_ID},
            description="By what it is called, and its host name: letters, digits and -.",
        ),
    ]
    name: Annotated[str, Meta(max_length=200, description="What people call it; empty is its id.")] = ""
    owner: Annotated[str, Meta(max_length=64, description="The user whose it is.")] = LOCAL
    target: Annotated[
        str,
        Meta(
            pattern=r"^$|^(?i:https?)://[^\s/?#@]+/?$",
            extra={"wanted": "http://127.0.0.1:3000 or https://host, without path, user or password"},
            max_length=300,
            description="Where its app listens.",
        ),
    ] = ""
    enabled: Annotated[bool | None, Meta(description="Whether its pages get tokens; absent is yes.")] = None
    content_types: Annotated[ContentTypes | None, Meta(description=f"{_CONTENT_TYPES} Absent is as in [proxy].")] = None
    exclude_paths: Annotated[Paths | None, Meta(description=f"{_EXCLUDE_PATHS} Absent is as in [proxy].")] = None
    response_body_max_size: Annotated[BodySize | None, Meta(description=f"{_BODY_MAX} Absent is as in [proxy].")] = None


class Hub(msgspec.Struct, frozen=True):
    url: Annotated[
        str,
        Meta(
            pattern=r"^$|^wss://[^\s/?#@]+(/[^\s?#]*)?$|^ws://(127\.0\.0\.1|localhost|\[::1\]):[0-9]+(/[^\s?#]*)?$",
            extra={
                "wanted": "wss://hub.example.com/signaling, or ws://127.0.0.1:8778/signaling for one on this machine "
                "(wss elsewhere; no user, ? or #); or nothing"
            },
            max_length=1000,
            description="Hub to ask for debugged tabs, such as wss://hub.example.com/signaling; empty is ours.",
        ),
    ] = ""
    key: Annotated[str, Meta(max_length=200, description="The key of your user there.")] = ""
    port: Annotated[int, Meta(ge=0, le=65535, description="Port of `pilothouse hub`; 0 picks a free one.")] = 8778
    memory_mb: Annotated[
        int,
        Meta(
            ge=32,
            le=65_536,
            description="Megabytes that a hub keeps of all tabs; beyond it, whose tabs hold most lose their oldest.",
        ),
    ] = 256


class User(msgspec.Struct, frozen=True):
    name: Annotated[str, Meta(pattern=NAME, extra={"wanted": A_NAME}, description="Who it is; `local` is you, here.")]
    key_sha256: Annotated[
        str,
        Meta(
            pattern="^$|^[0-9a-f]{64}$",
            extra={"wanted": "64 digits and letters a to f, as `pilothouse user add NAME` writes them, or nothing"},
            description="SHA-256 of the user's key; empty opens nothing.",
        ),
    ] = ""


class Config(msgspec.Struct, frozen=True):
    server: Server = Server()
    browser: Browser = Browser()
    limits: Limits = Limits()
    snapshot: Snapshot = Snapshot()
    files: Files = Files()
    network: Network = Network()
    sluice: Sluice = Sluice()
    grid: Grid = Grid()
    approvals: Approvals = Approvals()
    log: Log = Log()
    proxy: Proxy = Proxy()
    hub: Hub = Hub()
    profiles: list[Profile] = []
    endpoints: list[Endpoint] = []
    cocoons: list[Cocoon] = []
    users: list[User] = []


class Option(NamedTuple):
    section: str
    key: str
    type: Any
    default: Any
    description: str
    env: str

    @property
    def name(self) -> str:
        return f"{self.section}.{self.key}"


def options() -> Iterator[Option]:
    """Every option of a section, in the order of its declaration."""
    for section in msgspec.structs.fields(Config):
        if section.name not in _TABLES:
            for key, kind, default in _fields(section.type):
                env = f"PILOTHOUSE_{section.name}_{key}".upper()
                yield Option(section.name, key, kind, default, kind.__metadata__[-1].description, env)


def table_keys() -> Iterator[Option]:
    """Every key of the lists of tables (`[[profiles]]`), which stand in the file only."""
    for table, struct in _TABLES.items():
        for key, kind, default in _fields(struct):
            yield Option(table, key, kind, default, kind.__metadata__[-1].description, "")


def _fields(struct: Any) -> Iterator[tuple[str, Any, Any]]:
    hints = get_type_hints(struct, include_extras=True)
    for field in msgspec.structs.fields(struct):
        default = field.default
        if default is msgspec.NODEFAULT and field.default_factory is not msgspec.NODEFAULT:
            default = field.default_factory()
        yield field.name, hints[field.name], default


_TABLES: dict[str, Any] = {"profiles": Profile, "endpoints": Endpoint, "cocoons": Cocoon, "users": User}
_OTHER_NAMES = {"PILOTHOUSE_CHROME": "browser.path", "ENABLE_PROXY": "proxy.enabled", "PROXY_PORT": "proxy.port"}
_OPTIONS = {option.name: option for option in options()}
_SECTIONS = [name for name in Config.__struct_fields__ if name not in _TABLES]


def load(
    path: Path | None = None, environ: Mapping[str, str] | None = None, flags: Mapping[str, Any] | None = None
) -> Config:
    """The configuration in force. `flags` maps "section.key" to a value; None means that the flag was not given.

    A file that does not exist is an empty one; a mistake anywhere is `bad_request` with its place and the nearest
    right name.
    """
    tree = _tree(path)
    layers = [*_from_tree(tree, str(path)), *_from_environ(environ or {}), *_from_flags(flags or {})]
    return _merged(tree, str(path), layers)


def parse(text: str, place: str) -> Config:
    """What a file of this text says, without environment and flags."""
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Failure("bad_request", f"{place}: {error}") from None
    return _merged(tree, place, [*_from_tree(tree, place)])


_Setting = tuple[Option, Any, str]


def _merged(tree: dict[str, Any], place: str, layers: list[_Setting]) -> Config:
    merged: dict[str, Any] = {section: {} for section in _SECTIONS}
    for option, value, origin in layers:
        merged[option.section][option.key] = _check(option, value, origin)
    for table in _TABLES:
        merged[table] = _entries(table, tree.get(table, []), place)
    config = msgspec.convert(merged, Config)
    _check_gateways(config.sluice, place)
    return config


def _check_gateways(sluice: Sluice, place: str) -> None:
    """What no schema says: a mistake here would show when the first agent comes."""
    try:
        for one in sluice.nodes:
            ipaddress.ip_network(one, strict=False)
    except ValueError as error:
        raise Failure("bad_request", f"{place}: sluice.nodes: {error}") from None
    try:
        ipaddress.ip_address(sluice.listen or "0.0.0.0")
    except ValueError as error:
        raise Failure("bad_request", f"{place}: sluice.listen: {error}") from None
    if sluice.advertise and not sluice.nodes:
        raise Failure(
            "bad_request",
            f"{place}: sluice.advertise opens gateways to other machines, and Chrome knows no password for them: "
            "sluice.nodes has to say which machines those are",
        )


def _tree(path: Path | None) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8")) if path else {}
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise Failure("bad_request", f"{path}: {error}") from None


def _from_tree(tree: dict[str, Any], place: str) -> Iterator[_Setting]:
    for section, body in tree.items():
        if section in _TABLES:
            continue
        if section not in _SECTIONS:
            raise _unknown(f"{place}: there is no section [{section}]", section, [*_SECTIONS, *_TABLES])
        if not isinstance(body, dict):
            raise Failure("bad_request", f"{place}: {section} is a section; write [{section}] and its keys below")
        for key, value in cast(dict[str, Any], body).items():
            name = f"{section}.{key}"
            yield _option(name, f"{place}: [{section}] has no key {key}"), value, f"{place}: {name}"


def _entries(table: str, entries: Any, place: str) -> list[dict[str, Any]]:
    """The tables of a list, each key checked where it stands; none may be called like another, by its first key."""
    called = _TABLES[table].__struct_fields__[0]
    keys = {option.key: option for option in table_keys() if option.section == table}
    if not isinstance(entries, list) or not all(isinstance(one, dict) for one in cast(list[Any], entries)):
        raise Failure("bad_request", f"{place}: {table} is a list; write [[{table}]] and its keys below")
    seen: dict[str, int] = {}
    for number, entry in enumerate(cast(list[dict[str, Any]], entries), 1):
        where = f"{place}: {table} no. {number}"
        for key, value in entry.items():
            if key not in keys:
                raise _unknown(f"{where} has no key {key}", key, keys)
            _check(keys[key], value, f"{where}: {key}")
        if called not in entry:
            raise Failure("bad_request", f"{where}: it needs {'an' if called == 'id' else 'a'} {called}")
        if (first := seen.setdefault(entry[called], number)) != number:
            raise Failure("bad_request", f"{where}: its {called} {entry[called]} is that of no. {first}")
    return cast(list[dict[str, Any]], entries)


def _from_environ(environ: Mapping[str, str]) -> Iterator[_Setting]:
    for variable, name in _OTHER_NAMES.items():
        if text := environ.get(variable):
            yield _OPTIONS[name], _from_text(_OPTIONS[name], text), variable
    by_env = {option.env: option for option in _OPTIONS.values()}
    prefixes = tuple(f"PILOTHOUSE_{section}_".upper() for section in _SECTIONS)
    for variable, text in environ.items():
        if not variable.startswith(prefixes):
            continue
        if variable not in by_env:
            raise _unknown(f"environment: there is no option {variable}", variable, by_env)
        yield by_env[variable], _from_text(by_env[variable], text), variable


def _from_flags(flags: Mapping[str, Any]) -> Iterator[_Setting]:
    for name, value in flags.items():
        if value is not None:
            flag = "--" + name.rpartition(".")[2].replace("_", "-")
            yield _option(name, f"flag {flag}: there is no option {name}"), value, f"flag {flag}"


def _from_text(option: Option, text: str) -> Any:
    """An environment variable as data: as in TOML or JSON, or plainly (`a,b` for lists, `name=value,…` for maps)."""
    bare = get_args(option.type)[0]
    if bare is str:
        return text
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if get_origin(bare) is list and not text.lstrip().startswith("["):
        return parts
    if get_origin(bare) is dict and not text.lstrip().startswith("{"):
        return {name.strip(): value.strip() for name, _, value in (part.partition("=") for part in parts)}
    try:
        return json.loads(text)
    except ValueError:
        pass
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _check(option: Option, value: Any, origin: str) -> Any:
    try:
        return msgspec.convert(value, option.type)
    except msgspec.ValidationError as error:
        if " matching regex " in str(error):  # what was given may hold a password, and is not repeated
            raise Failure("bad_request", f"{origin}: it has to be {wanted(option.type)}") from None
        raise Failure("bad_request", f"{origin}: {error} (wanted: {kind(option.type)})") from None


def wanted(declared: Any) -> str:
    """What the pattern of a type asks for, in words; empty where there is none."""
    metas: list[Any] = [one for one in getattr(declared, "__metadata__", ()) if isinstance(one, Meta)]
    own: list[str] = [one.extra["wanted"] for one in metas if one.pattern and one.extra]
    return next((words for words in [*own, *map(wanted, get_args(declared))] if words), "")


def kind(declared: Any) -> str:
    """A type in words: `int`, `list[str]`, `"auto" | bool`."""
    origin, parts = get_origin(declared), get_args(declared)
    if origin is Annotated:
        return kind(parts[0])
    if origin is Literal:
        return " | ".join(json.dumps(part) for part in parts)
    if origin in (Union, UnionType):
        return " | ".join(kind(part) for part in parts if part is not NoneType)
    if isinstance(declared, type) and issubclass(declared, msgspec.Struct):
        return f"{{{', '.join(declared.__struct_fields__)}}}"
    return str(cast(Any, declared)) if parts else cast(Any, declared).__name__


def _option(name: str, complaint: str) -> Option:
    if name in _OPTIONS:
        return _OPTIONS[name]
    section = name.partition(".")[0]
    raise _unknown(complaint, name, [one for one in _OPTIONS if one.startswith(f"{section}.")] or _OPTIONS)


def _unknown(complaint: str, name: str, known: Any) -> Failure:
    close = get_close_matches(name, list(known), n=1, cutoff=0.3)
    hint = f"; did you mean {close[0]}?" if close else f"; known are {', '.join(known)}"
    return Failure("bad_request", complaint + hint)
