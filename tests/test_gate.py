"""The corridor's own small things; what it does to calls is in the tests of tools, doors and hostile pages."""

from pilothouse.call import Defaults
from tests.promises import promise

pytestmark = promise("B06", "E09")


def test_what_a_connection_does_not_say_is_as_the_daemon_was_started():
    daemon = Defaults(tools="all", headed=True)
    assert Defaults(tools="").over(daemon) == Defaults(tools="all", headed=True)
    assert Defaults(tools="core", profile="work").over(daemon) == Defaults(tools="core", profile="work", headed=True)
    assert Defaults(tools="", headed=True).over(Defaults()) == Defaults(tools="core", headed=True)
