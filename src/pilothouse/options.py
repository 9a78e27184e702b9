"""Every option, declared once: its section, name, type, bounds, default and meaning.

Above: everyone who is handed a part of it; `config` reads the file, and the docs are printed from `options()` and
`table_keys()`. Below: nothing. What a `pattern` asks for stands beside it in words (`wanted`): nobody is shown a
regular expression.
"""

import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal, NamedTuple, get_type_hints

import msgspec
from msgspec import Meta


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


TABLES: dict[str, Any] = {"profiles": Profile, "endpoints": Endpoint, "cocoons": Cocoon, "users": User}


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
        if section.name not in TABLES:
            for key, kind, default in _fields(section.type):
                env = f"PILOTHOUSE_{section.name}_{key}".upper()
                yield Option(section.name, key, kind, default, kind.__metadata__[-1].description, env)


def table_keys() -> Iterator[Option]:
    """Every key of the lists of tables (`[[profiles]]`), which stand in the file only."""
    for table, struct in TABLES.items():
        for key, kind, default in _fields(struct):
            yield Option(table, key, kind, default, kind.__metadata__[-1].description, "")


def _fields(struct: Any) -> Iterator[tuple[str, Any, Any]]:
    hints = get_type_hints(struct, include_extras=True)
    for field in msgspec.structs.fields(struct):
        default = field.default
        if default is msgspec.NODEFAULT and field.default_factory is not msgspec.NODEFAULT:
            default = field.default_factory()
        yield field.name, hints[field.name], default
