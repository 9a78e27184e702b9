"""What of the policy is put into Chrome's own words: what is forbidden, nothing that a person could still be asked."""

import re
from typing import Any

import pytest

from pilothouse.errors import Failure
from pilothouse.guard.netrules import MAX_RULES, net_rules
from pilothouse.guard.policy import Policy
from pilothouse.guard.rules import read_rules
from tests.promises import promise

pytestmark = promise("D04")

OWN = 8777
LOCAL = '[[rules]]\nhost = "localhost"'
NOT_3000 = '[[rules]]\nhost = "127.0.0.1:3000"\nread = false'


def blocked(policy: str, url: str, allowed: tuple[str, ...] = ()) -> bool:
    """As Chrome judges it: the highest priority decides."""
    rules = Policy(read_rules(policy), own_ports={OWN}).view("extension", "auto").net_rules(allowed)
    fitting = [one for one in rules if fits(one["condition"], url)]
    return max(fitting, key=lambda one: one["priority"])["action"]["type"] == "block" if fitting else False


def fits(condition: dict[str, Any], url: str) -> bool:
    if excluded := condition.get("excludedRequestDomains"):
        host = re.sub(r"^\w+://|[:/].*", "", url)
        return not any(host == one or host.endswith(f".{one}") for one in excluded)
    return re.search(condition["regexFilter"], url, re.IGNORECASE) is not None


@pytest.mark.parametrize(
    ("policy", "url", "is_blocked"),
    [
        ("", "https://new.example/", False),  # a person is asked about it
        ("", "http://127.0.0.1:3000/", True),  # careful: only if listed
        ("", "http://localhost/", True),
        ("", "ws://192.168.1.1/", True),
        ("", "http://10.0.0.7:8080/x", True),
        ("", "http://localhost./", True),  # the same host
        ("", "http://0.0.0.0:3000/", True),
        ("", "http://[::]/", True),
        ('template = "sandbox"', "http://[::ffff:7f00:1]:8777/", True),  # Chrome's spelling of ::ffff:127.0.0.1
        ('template = "sandbox"', "http://[::ffff:a9fe:a9fe]/", True),
        ('template = "sandbox"', "http://metadata.google.internal./", True),
        ('template = "sandbox"', "http://localhost.:8777/", True),
        ('[[rules]]\nhost = "bad.test"\nread = false', "https://bad.test./x", True),
        ("", "http://172.15.0.1/", False),
        ("", "http://172.16.0.1/", True),
        ("", "https://a.test/?to=http://127.0.0.1/", False),
        ('[[rules]]\nhost = "localhost:3000"', "http://localhost:3000/", False),
        ('[[rules]]\nhost = "localhost:3000"', "http://localhost:3001/", True),
        ('[[rules]]\nhost = "localhost:8777"', "http://localhost:8777/", True),  # ourselves
        (f"{LOCAL}\n{NOT_3000}", "http://localhost:3000/", True),  # the same place by another name
        (f"{LOCAL}\n{NOT_3000}", "http://localhost:3001/", False),
        (f'{LOCAL}\n{NOT_3000}\n[[rules]]\nhost = "localhost:3000"', "http://localhost:3000/", False),
        ("", "http://169.254.169.254/latest/meta-data/", True),
        ('template = "sandbox"', "http://169.254.169.254/", True),
        ('template = "sandbox"', "http://metadata.google.internal/", True),
        ('template = "sandbox"', "http://127.0.0.1:3000/", False),
        ('template = "sandbox"', "http://127.0.0.1:8777/", True),
        ('template = "locked"', "https://new.example/", True),
        ('template = "locked"\n[[rules]]\nhost = "*.good.test"', "https://a.good.test/x", False),
        ('template = "locked"\n[[rules]]\nhost = "*.good.test"', "https://good.test/x", True),
        ('template = "locked"\n[[rules]]\nhost = "*.good.test"', "https://evil.test/a.good.test/", True),
        ('template = "locked"\n[[rules]]\nhost = "*.good.test"', "https://a.good.test@evil.test/", True),
        ('[[rules]]\nhost = "bad.test"\nread = false', "https://bad.test/", True),
        ('[[rules]]\nhost = "bad.test"\nread = false', "wss://bad.test:9000/", True),
        ('[[rules]]\nhost = "bad.test"\nread = false', "https://www.bad.test/", False),
        ('[[rules]]\nhost = "bad.test"\nread = false', "https://notbad.test/", False),
        ('[[rules]]\nhost = "*.b.test"\nread = false\n[[rules]]\nhost = "ok.b.test"', "https://ok.b.test/", False),
        ('[[rules]]\nhost = "*.b.test"\nread = false\n[[rules]]\nhost = "ok.b.test"', "https://no.b.test/", True),
        ('[[rules]]\nhost = "https://b.test"\nread = false', "http://b.test/", False),
        ('[[rules]]\nhost = "https://b.test"\nread = false', "https://b.test/", True),
        ('[[rules]]\nhost = "b.test:443"\nread = false', "https://b.test/", True),
        ('[[rules]]\nhost = "b.test:443"\nread = false', "http://b.test/", False),
    ],
)
def test_what_chrome_is_told(policy: str, url: str, is_blocked: bool) -> None:
    assert blocked(policy, url) is is_blocked


def test_a_narrowed_session() -> None:
    assert blocked("", "https://else.test/", ("a.test", "*.b.test"))
    assert not blocked("", "https://a.test/x", ("a.test", "*.b.test"))
    assert not blocked("", "https://x.b.test/", ("a.test", "*.b.test"))
    assert blocked('[[rules]]\nhost = "a.test"', "https://c.test/", ("a.test",))


def test_chrome_takes_only_so_many() -> None:
    allowed = "\n".join(f'[[rules]]\nhost = "h{n}.test"' for n in range(1500))
    assert len(net_rules(read_rules(allowed), hosts="deny", private=True, own_ports=())) == MAX_RULES
    forbidden = "\n".join(f'[[rules]]\nhost = "h{n}.test"\nread = false' for n in range(1500))
    with pytest.raises(Failure, match="forbids more hosts") as raised:
        net_rules(read_rules(forbidden), hosts="deny", private=True, own_ports=())
    assert raised.value.suggestions


def test_too_many_never_open_what_is_closed() -> None:
    many = "\n".join(f'[[rules]]\nhost = "h{n}.test"' for n in range(1500))
    assert blocked(f'template = "locked"\n{many}', "https://new.example/")
    assert blocked(f'{many}\n[[rules]]\nhost = "*.test"\nread = false', "https://other.test/")
