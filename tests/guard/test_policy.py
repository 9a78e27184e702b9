"""The table of the templates, cell by cell; modes; what is never allowed; what the network layer is told."""

import itertools
import time
from collections.abc import Callable
from ipaddress import ip_address
from typing import Any

import msgspec
import pytest

from pilothouse.errors import Failure
from pilothouse.guard.approvals import Approvals
from pilothouse.guard.explain import explained
from pilothouse.guard.policy import Aim, Decision, Policy, Question, denial
from pilothouse.guard.rules import read_rules
from pilothouse.tool import Access
from tests.promises import promise

pytestmark = promise("D01", "D02", "D03", "D05", "D10")

ACCESS = {"R": Access.READ, "V": Access.VISIT, "W": Access.WRITE, "S": Access.SENSITIVE}
OPEN, NAMED, WRITABLE, PRIVATE = "https://other.test/", "https://named.test/", "https://rw.test/", "http://10.1.2.3/"
RULES = '[[rules]]\nhost = "named.test"\n[[rules]]\nhost = "rw.test"\nwrite = true\n'


def ask(text: str, url: str, access: Access, **question: Any) -> tuple[Decision, ...]:
    """What a policy of this text says about one address."""
    risk = question.pop("risk", None)
    assess = (lambda asked, patterns: (risk, "because")) if risk else None
    policy = Policy(read_rules(text), own_ports={8777}, assess=assess)
    made = Question("key", "s1", question.pop("tool", "click"), access, {}, urls=(url,) if url else (), **question)
    said = policy.weigh(made)
    assert policy.decide(made) == said[-1]
    return said


def verdict(text: str, url: str, access: Access, **question: Any) -> str:
    """`allow`, `deny`, `ask`, or `once`: asked once for the domain."""
    said = ask(text, url, access, **question)[-1]
    return "once" if said.verdict == "ask" and said.once_for else said.verdict


# template, host -> R and V, W, S, S of high risk
TABLE = {
    ("sandbox", OPEN): ("allow", "allow", "allow", "ask"),
    ("sandbox", NAMED): ("allow", "allow", "allow", "ask"),
    ("sandbox", PRIVATE): ("allow", "allow", "allow", "ask"),
    ("careful", OPEN): ("once", "once", "ask", "ask"),
    ("careful", NAMED): ("allow", "once", "ask", "ask"),
    ("careful", WRITABLE): ("allow", "allow", "ask", "ask"),
    ("careful", PRIVATE): ("deny", "deny", "deny", "deny"),
    ("locked", OPEN): ("deny", "deny", "deny", "deny"),
    ("locked", NAMED): ("allow", "deny", "deny", "deny"),
    ("locked", WRITABLE): ("allow", "allow", "ask", "ask"),
    ("locked", PRIVATE): ("deny", "deny", "deny", "deny"),
    ("readonly", OPEN): ("allow", "deny", "deny", "deny"),
    ("readonly", NAMED): ("allow", "deny", "deny", "deny"),
    ("readonly", WRITABLE): ("allow", "allow", "ask", "ask"),
    ("readonly", PRIVATE): ("allow", "deny", "deny", "deny"),
}


@pytest.mark.parametrize(("template", "url"), TABLE)
def test_the_table_of_templates(template: str, url: str):
    text = f'template = "{template}"\n{RULES}'
    read, write, sensitive, high = TABLE[template, url]
    assert verdict(text, url, Access.READ) == verdict(text, url, Access.VISIT) == read
    assert verdict(text, url, Access.WRITE) == write
    assert verdict(text, url, Access.SENSITIVE) == sensitive
    assert verdict(text, url, Access.SENSITIVE, risk="high") == high
    # What a write points at makes it sensitive; a high risk is asked each time.
    assert verdict(text, url, Access.WRITE, risk="medium") == sensitive
    assert verdict(text, url, Access.WRITE, risk="high") == high


def test_the_template_of_a_browser_when_none_is_named():
    for browser, read in (("isolated", "allow"), ("profile", "allow"), ("extension", "once"), ("remote", "once")):
        assert verdict("", OPEN, Access.READ, browser=browser) == read
        assert verdict('template = "sandbox"', OPEN, Access.READ, browser=browser) == "allow"


@pytest.mark.parametrize(("default", "said"), [("allow", "allow"), ("ask", "once"), ("deny", "deny")])
def test_default_is_about_hosts_that_no_rule_names(default: str, said: str):
    for template in ("sandbox", "careful", "locked", "readonly"):
        text = f'template = "{template}"\ndefault = "{default}"\n{RULES}'
        assert verdict(text, OPEN, Access.READ) == said
        assert verdict(text, NAMED, Access.READ) == "allow"
    assert ask(f'default = "{default}"', OPEN, Access.READ)[0].rule == "default"


def test_modes_narrow_and_never_widen():
    text = 'mode = "{}"\n' + RULES
    order = ["auto", "ask", "readonly"]
    for mine, session in itertools.product(order, order):
        strictest = max(mine, session, key=order.index)
        wanted = {"auto": ("allow", "allow", "allow"), "ask": ("once", "once", "ask")}.get(
            strictest, ("allow", "deny", "deny")
        )
        here = text.format(mine)
        got = tuple(verdict(here, OPEN, one, mode=session) for one in (Access.READ, Access.WRITE, Access.SENSITIVE))
        assert got == wanted, (mine, session)
    assert verdict(text.format("readonly"), WRITABLE, Access.WRITE) == "deny"
    assert verdict(text.format("ask"), WRITABLE, Access.WRITE) == "allow"
    assert verdict(text.format("auto"), OPEN, Access.WRITE, mode="unheard of") == "deny"


def test_a_rule_says_what_may_be_done():
    text = 'template = "{}"\n[[rules]]\nhost = "a.test"\n{}\n'
    for template in ("sandbox", "careful", "locked", "readonly"):
        closed, shown = text.format(template, "read = false"), text.format(template, "write = false")
        assert {verdict(closed, "http://a.test", one) for one in ACCESS.values()} == {"deny"}
        assert verdict(shown, "http://a.test", Access.READ) == "allow"
        assert (
            verdict(shown, "http://a.test", Access.WRITE) == verdict(shown, "http://a.test", Access.SENSITIVE) == "deny"
        )
        asked = text.format(template, "write = true\napproval = true")
        assert verdict(asked, "http://a.test", Access.WRITE) == "ask"  # every write, not once
        assert verdict(asked, "http://a.test", Access.READ) == "allow"


def test_a_question_about_a_domain_is_asked_for_the_domain_and_visits_are_not_changes():
    careful = 'template = "careful"'
    visit, change = ask(careful, "http://a.test/1", Access.READ)[0], ask(careful, "http://a.test/2", Access.WRITE)[0]
    assert visit.once_for == ask(careful, "http://a.test/3?q", Access.VISIT)[0].once_for == "a.test"
    assert change.once_for == "a.test (changes)"
    assert ask(careful, "http://a.test:8080/", Access.READ)[0].once_for == "a.test:8080"


def test_every_domain_of_a_call_is_asked_about():
    policy = Policy(read_rules('template = "careful"\n[[rules]]\nhost = "known.test"\n'))
    urls = ("http://a.test/", "http://known.test/", "http://b.test/", "http://a.test/x")
    said = policy.weigh(Question("key", "s", "get_page_text", Access.READ, {}, browser="remote", urls=urls))
    assert [one.once_for for one in said] == ["a.test", "b.test"]


def test_to_open_an_address_that_fits_a_pattern_asks_each_time():
    rules = Policy(read_rules('sensitive_patterns = ["(?i)delete.account"]'))

    def said(access: Access, path: str) -> Decision:
        url = f"https://shop.test/{path}"
        return rules.weigh(Question("a", "s", "navigate", access, {"url": url}, urls=(url,)))[0]

    asked = said(Access.VISIT, "delete-account?sure=1")
    assert (asked.verdict, asked.risk, asked.rule, asked.once_for) == ("ask", "high", "sensitive_patterns", "")
    assert "fits the pattern" in asked.why
    assert said(Access.VISIT, "account").verdict == "allow"
    assert said(Access.READ, "delete-account").verdict == "allow"


def test_one_denial_is_enough():
    policy = Policy(read_rules('[[rules]]\nhost = "bad.test"\nread = false\n'))
    for urls in (("http://ok.test", "http://bad.test"), ("http://bad.test", "http://ok.test")):
        (said,) = policy.weigh(Question("key", "s", "click", Access.WRITE, {}, urls=urls))
        assert (said.verdict, said.rule) == ("deny", "rule bad.test")


def test_the_frame_of_an_element_and_where_it_leads_are_looked_at():
    policy = Policy(read_rules('[[rules]]\nhost = "bad.test"\nread = false\n'))
    for aim in (Aim(url="http://bad.test/frame"), Aim(leads_to="http://bad.test/login")):
        asked = Question("key", "s", "click", Access.WRITE, {}, urls=("http://ok.test",), aims=(aim,))
        assert policy.decide(asked).rule == "rule bad.test"
    harmless = (Aim(leads_to="javascript:void 0"), Aim(leads_to="mailto:a@bad.test"))
    asked = Question("key", "s", "click", Access.WRITE, {}, urls=("http://ok.test",), aims=harmless)
    assert policy.decide(asked).verdict == "allow"
    looks = Question(
        "key", "s", "hover", Access.VISIT, {}, urls=("http://ok.test",), aims=(Aim(leads_to="http://bad.test"),)
    )
    assert policy.decide(looks).verdict == "allow"


@pytest.mark.parametrize(
    ("template", "said"),
    [("sandbox", "aaaa"), ("careful", "aaqq"), ("locked", "aaqq"), ("readonly", "aadd")],
)
def test_what_is_about_no_page(template: str, said: str):
    words = {"a": "allow", "q": "ask", "d": "deny"}
    for letter, access in zip(said, ACCESS.values(), strict=True):
        assert verdict(f'template = "{template}"', "", access) == words[letter]


def test_a_blank_page_belongs_to_nobody():
    for url in ("about:blank", "about:srcdoc", "chrome-error://chromewebdata/"):
        assert verdict('template = "locked"', url, Access.READ) == "allow"
        assert verdict('template = "careful"', url, Access.WRITE) == "allow"
        assert verdict("", url, Access.WRITE, mode="readonly") == "deny"


# What is never allowed


NEVER = [
    "http://169.254.169.254/latest/meta-data", "http://2852039166/", "http://0xa9fea9fe/", "http://[::ffff:a9fe:a9fe]/",
    "http://metadata.google.internal/", "http://METADATA/", "http://169.254.1.2/", "http://[fe80::1]/",
    "http://127.0.0.1:8777/", "http://localhost:8777/api", "http://[::1]:8777/", "http://0.0.0.0:8777/",
    "http://2130706433:8777/", "http://x.localhost:8777/", "chrome-extension://abcdefgh/panel.html",
    "javascript:alert(1)", "view-source:http://a.test/", "file:///etc/hosts", "devtools://devtools/x", "about:settings", "filesystem:http://a.test/x", "ftp://a.test/",
    "blob:null/1-2", "ws:", "not an address",
]  # fmt: skip


@pytest.mark.parametrize("url", NEVER)
def test_never(url: str):
    text = 'template = "sandbox"\ndefault = "allow"\n'
    text += "".join(
        f'[[rules]]\nhost = "{host}"\nwrite = true\n' for host in ("169.254.169.254", "127.0.0.1", "metadata")
    )
    text += "".join(f'[[rules]]\nhost = "{one}"\n' for one in ("data:", "chrome:"))
    for access in ACCESS.values():
        (said,) = ask(text, url, access)
        assert (said.verdict, said.rule, said.line) == ("deny", "built in", "")


@pytest.mark.parametrize("url", ["data:text/html,hi", "chrome://version/"])
def test_other_schemes_only_if_listed(url: str):
    scheme = url.partition(":")[0]
    for text in ("", 'default = "allow"', '[[rules]]\nhost = "http://data"'):
        (said,) = ask(text, url, Access.READ)
        assert said.verdict == "deny"
        assert said.line == f'[[rules]]\nhost = "{"data:" if scheme == "data" else "chrome://version"}"'
    assert ask(said.line, url, Access.READ)[0].verdict == "allow"
    assert ask(f"{said.line}\nread = false", url, Access.READ)[0].verdict == "deny"
    if scheme == "chrome":
        assert ask('[[rules]]\nhost = "chrome://version"', url, Access.READ)[0].verdict == "allow"
        assert ask('[[rules]]\nhost = "chrome://version"', "chrome://settings/", Access.READ)[0].verdict == "deny"


# What is told


@pytest.mark.parametrize("template", ["sandbox", "careful", "locked", "readonly"])
@pytest.mark.parametrize("url", [OPEN, PRIVATE, "http://localhost:3000/", "http://[fd00::1]/", "https://rw.test:8443/"])
@pytest.mark.parametrize("access", ACCESS.values())
def test_the_line_that_is_told_would_have_helped(template: str, url: str, access: Access):
    text = f'template = "{template}"\n'
    said = ask(text, url, access)[-1]
    assert said.why or said.verdict == "allow"
    if said.verdict != "deny":
        return
    assert ask(f"{text}\n{said.line}\n", url, access)[-1].verdict != "deny"


def test_a_denial_names_the_rule_and_the_line():
    (said,) = ask('template = "locked"', "http://shop.test/", Access.WRITE)
    problem = denial(said, "click")
    assert problem.code == "denied"
    assert "click: no rule names shop.test" in problem.message
    assert problem.details == {"rule": "template locked", "line": '[[rules]]\nhost = "shop.test"\nwrite = true'}
    assert not any("shop.test" in one for one in problem.suggestions)  # hosts come from pages
    assert "`pilothouse policy allow HOST --write`" in problem.suggestions[0]


@pytest.mark.parametrize(
    ("url", "host"),
    [("http://127.0.0.1:8000/", "127.0.0.1:8000"), ("http://localhost/", "localhost"), ("http://[::1]:9/", "[::1]:9")],
)
def test_what_runs_on_this_machine_is_denied_in_own_chrome_with_the_command_that_allows_it(url: str, host: str):
    (said,) = ask("", url, Access.VISIT, browser="extension")
    problem = denial(said, "navigate")
    assert "private network" in problem.message
    assert f"`pilothouse policy allow {host}`" in problem.suggestions[0]
    allowed = f'[[rules]]\nhost = "{host}"'
    assert ask(allowed, url, Access.VISIT, browser="extension")[0].verdict == "allow"


def test_what_no_rule_can_open_suggests_none():
    store = "chromewebstore.google.com"
    closed = {"chrome:": "chrome://settings/", store: f"https://{store}/detail/x"}
    for text, url in [("", one) for one in closed.values()] + [
        (f'[[rules]]\nhost = "{a}"', b) for a, b in closed.items()
    ]:
        (said,) = ask(text, url, Access.VISIT, browser="extension")
        assert (said.verdict, said.line) == ("deny", "")
        assert denial(said).suggestions == ["nothing can allow it"]


def test_a_page_that_has_not_come_yet_is_no_dead_end():
    (said,) = ask("", "http://*/", Access.READ, browser="extension")
    assert "wait until the page has loaded" in denial(said).suggestions[0]


async def test_a_denial_ends_the_call_and_what_is_allowed_asks_nobody():
    question = Question("key", "s1", "click", Access.WRITE, {})
    with pytest.raises(Failure) as caught:
        await Approvals().ask(question, Decision("deny", "rule 1", why="no"))
    assert caught.value.code == "denied"
    assert not await Approvals().ask(question, Decision("allow", "rule 1"))


def test_what_would_happen():
    policy = Policy(read_rules('template = "careful"\n[[rules]]\nhost = "a.test"\nwrite = true'))
    told = explained(policy, "a.test", tool=None, browser="isolated", mode="auto")
    assert told["url"] == "http://a.test/"
    assert {name: said[0]["verdict"] for name, said in told["says"].items()} == {
        "read": "allow",
        "write": "allow",
        "sensitive": "ask",
    }
    told = explained(policy, "http://169.254.169.254/", tool=None, browser="isolated", mode="auto")
    assert told["says"]["any"][0]["verdict"] == "deny"


# What the network layer asks


@pytest.mark.parametrize(
    ("rules", "watch"),
    [
        ("", ""),
        ('[[rules]]\nhost = "a.test:8080"\nread = false', ""),
        ('[[rules]]\nhost = "https://a.test"', ""),
        ('template = "locked"', "documents"),  # also those that never see the network
        ('template = "locked"\ndefault = "allow"', "documents"),
        ('[[rules]]\nhost = "https://a.test"\nread = false', "documents"),  # no connection tells its scheme
        ('[[rules]]\nhost = "a.test"\nread = false\n[[rules]]\nhost = "https://a.test"', "documents"),
        ('default = "ask"', ""),  # the sluice waits for a person
        ('default = "ask"\n[[rules]]\nhost = "https://a.test"', "documents"),
        ('template = "careful"', ""),
        ('[[rules]]\nhost = "a.test"\nresources = ["b.test"]', "all"),
    ],
)
def test_what_has_to_be_shown_to_us(rules: str, watch: str):
    assert Policy(read_rules(rules)).view("isolated", "auto").watch == watch


@pytest.mark.parametrize("browser", ["profile", "extension", "remote"])
def test_who_shares_a_way_out_or_has_none_of_ours_is_held_in_the_browser(browser: str):
    """What one session of a profile may reach, all can: the sluice could let pass what another was asked about."""
    assert Policy(read_rules('default = "ask"')).view(browser, "auto").watch == "documents"


def test_a_view_is_of_the_rules_of_now():
    policy = Policy(read_rules(""))
    view, heard = policy.view("isolated", "auto"), list[int]()
    stop = policy.on_change(lambda: heard.append(1))
    assert view.watch == ""
    assert view.host("a.test", 443) is None
    assert view.document("http://a.test").verdict == "allow"
    policy.replace(read_rules('[[rules]]\nhost = "a.test"\nread = false'))
    assert heard == [1]
    assert view.watch == "", "the sluice knows hosts"
    assert policy.view("extension", "auto").watch == "documents", "no sluice stands before the person's own Chrome"
    assert "rule a.test forbids" in (view.host("a.test", 443) or "")
    assert view.document("http://a.test").verdict == "deny"
    assert view.host("b.test", 443) is None
    stop()
    policy.replace(read_rules(""))
    assert heard == [1]


def test_connections_know_no_scheme_and_take_the_milder():
    view = Policy(read_rules('template = "locked"\n[[rules]]\nhost = "https://a.test"\n')).view("isolated", "auto")
    assert view.host("a.test", 443) is None
    assert view.document("http://a.test/").verdict == "deny"
    assert view.host("b.test", 443)


def test_a_host_that_must_be_asked_about_is_not_reached_before():
    view = Policy().view("remote", "auto")
    assert view.document("http://a.test/").verdict == "ask"
    assert view.host("a.test", 443)


def test_addresses_of_names():
    private, public = ip_address("10.0.0.7"), ip_address("93.184.216.34")
    text = '[[rules]]\nhost = "intra.test:8080"\n[[rules]]\nhost = "10.9.9.9"\n[[rules]]\nhost = "*.corp.test"\n'
    for template, may in (("sandbox", True), ("readonly", True), ("careful", False), ("locked", False)):
        view = Policy(read_rules(f'template = "{template}"\n{text}')).view("isolated", "auto")
        assert (view.address("rebinding.test", private, 80) is None) == may
        assert (view.address("rebinding.test", ip_address("::ffff:127.0.0.1"), 80) is None) == may
        assert view.address("rebinding.test", public, 80) is None
        for listed in ("intra.test", "a.corp.test"):
            assert view.address(listed, private, 80) is None
        assert view.address("rebinding.test", ip_address("10.9.9.9"), 80) is None


def test_lists_of_pages_are_kept_apart():
    text = 'template = "locked"\n[[rules]]\nhost = "a.test"\nresources = ["cdn.test"]\n[[rules]]\nhost = "b.test"\n'
    text += '[[rules]]\nhost = "c.test"\nresources = []\n'
    view = Policy(read_rules(text)).view("isolated", "auto")
    assert view.watch == "all"
    assert view.host("cdn.test", 443) is None  # the union of all lists
    assert view.document("https://cdn.test/").verdict == "deny"
    admits: Callable[[str, str], bool] = lambda page, host: view.resources(f"https://{page}/").admit(host, 443)  # pyright: ignore
    assert admits("a.test", "cdn.test")
    assert not admits("a.test", "b.test")
    assert admits("b.test", "a.test")  # no list: whatever is allowed
    assert not admits("b.test", "cdn.test")
    assert not admits("c.test", "cdn.test")
    assert Policy().view("isolated", "auto").resources("https://a.test/") is None


def test_a_page_that_may_load_anything():
    text = (
        'template = "locked"\n[[rules]]\nhost = "a.test"\nresources = ["*"]\n[[rules]]\nhost = "bad.test"\nread = false'
    )
    view = Policy(read_rules(text), own_ports={8777}).view("isolated", "auto")
    assert view.host("any.test", 443) is None
    assert view.host("bad.test", 443)
    for never in (("127.0.0.1", 8777), ("169.254.169.254", 80), ("metadata", 80)):
        assert view.host(*never)
    (hosts,) = [view.resources("https://a.test/")]
    assert hosts
    assert hosts.admit("any.test", 443)


def test_frames_keep_a_page_from_being_read_only_if_they_are_forbidden():
    policy = Policy(read_rules('default = "ask"\n[[rules]]\nhost = "bad.test"\nread = false'))
    quiet = ["http://new.test/", "data:text/html,x", "chrome-extension://abc/x", "about:blank"]
    assert policy.refused_frame("isolated", "auto", quiet) is None
    said = policy.refused_frame("isolated", "auto", [*quiet, "http://bad.test/x"])
    assert said
    assert said.rule == "rule bad.test"


def test_what_a_call_points_at_matters_unless_nothing_may_be_done():
    assert Policy().wants_aims("isolated", "auto")
    assert not Policy().wants_aims("isolated", "readonly")
    assert not Policy(read_rules('mode = "readonly"')).wants_aims("isolated", "auto")


@pytest.mark.alone
def test_a_decision_costs_little():
    text = "\n".join(f'[[rules]]\nhost = "*.h{n}.test"\nwrite = true' for n in range(500))
    policy = Policy(read_rules(f'template = "careful"\n{text}'))
    question = Question("key", "s", "click", Access.WRITE, {}, urls=("https://a.b.h250.test/x", "https://else.test/"))
    best = 1.0
    for _ in range(20):
        began = time.perf_counter()
        for _ in range(50):
            policy.weigh(msgspec.structs.replace(question))
        best = min(best, (time.perf_counter() - began) / 50)
    assert best < 0.001  # seconds


def test_each_rule_that_wants_it_is_asked():
    """A yes to one rule is none to another."""
    text = "".join(f'[[rules]]\nhost = "{host}"\napproval = true\n' for host in ("a.test", "bank.test"))
    urls = ("https://a.test/", "https://a.test/other", "https://bank.test/")
    said = Policy(read_rules(text)).weigh(Question("key", "s", "click", Access.WRITE, {}, urls=urls))
    assert [(one.verdict, one.rule) for one in said] == [("ask", "rule a.test"), ("ask", "rule bank.test")]
