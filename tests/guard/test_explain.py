"""What `policy test` says is what would happen, and what it suggests would help."""

import pytest

from pilothouse.commands.policy import _said as told_as_text  # pyright: ignore[reportPrivateUsage]
from pilothouse.guard.explain import explained
from pilothouse.guard.policy import Policy
from pilothouse.guard.rules import read_rules
from tests.promises import promise

pytestmark = promise("D01", "D06")

URL = "https://shop.test/"


def policy(text: str = "") -> Policy:
    return Policy(read_rules(text, "policy.toml"))


def asked(text: str = "", **given: object):
    return explained(policy(text), URL, **{"tool": None, "browser": "isolated", "mode": "auto", **given})  # pyright: ignore[reportArgumentType]


def test_what_has_a_risk_is_asked_about_all_the_same():
    """Whether a click pays is known when there is something to click."""
    told = asked()
    assert told["says"]["write"][0]["verdict"] == "allow"
    assert told["riskier"] == {"write": {"high": "ask"}}
    assert "but a person is asked each time where what it acts on has high risk" in told_as_text(told)
    assert asked('template = "careful"')["riskier"] == {"write": {"medium": "ask", "high": "ask"}}
    assert asked('template = "readonly"')["riskier"] == {"write": {}}


def test_no_kind_of_action_is_called_a_tool():
    text = told_as_text(asked('template = "careful"'))
    assert "sensitive tool" not in text
    assert "a sensitive action on shop.test" in text


RULE = '[[rules]]\nhost = "shop.test"\n'


@pytest.mark.parametrize("template", ["sandbox", "careful", "locked", "readonly"])
@pytest.mark.parametrize("rules", ["", RULE, f"{RULE}approval = true\n", f"{RULE}write = false\n"])
@pytest.mark.parametrize("mode", ["auto", "ask"])
def test_every_suggested_line_changes_what_is_said(template: str, rules: str, mode: str):
    text = f'template = "{template}"\nmode = "{mode}"\n{rules}'
    for kind, (*_, last) in asked(text)["says"].items():
        if not last["line"]:
            continue
        line = last["line"].partition("  #")[0]
        key = line.partition(" =")[0]
        kept = "\n".join(one for one in text.splitlines() if not one.startswith(f"{key} ="))
        after = asked(f"{kept}\n{line}\n")["says"][kind][-1]
        assert (after["verdict"], after["rule"], after["once_for"]) != (last["verdict"], last["rule"], last["once_for"])
