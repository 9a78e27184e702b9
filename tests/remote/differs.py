"""What is different in a browser elsewhere (`pytest tests/tools --through remote`, or `grid`)."""

from tests.differing import Difference

WHERE = "in a browser elsewhere"

# Tests of other kinds of browsers, which agents' kind means nothing to.
NOT_MEANT = ("test_profiles.py", "test_lifecycle.py")

DIFFERS: list[Difference] = []
