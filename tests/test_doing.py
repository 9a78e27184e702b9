"""What a call says that it is doing."""

from pilothouse.doing import HEARD, Doing, doing, is_heard
from tests.promises import promise

pytestmark = promise("C11")


def test_what_was_said_last_holds():
    persons: list[str] = []
    one = Doing(on_person=lambda: persons.append(one.words))
    token = HEARD.set(one)
    try:
        assert is_heard()
        assert (one.words, one.depth) == ("", 0)
        with doing(lambda: "outer"):
            with doing(lambda: "inner", is_persons=True):
                assert (one.words, one.is_persons, one.depth) == ("inner", True, 2)
                with doing(lambda: "innermost"):
                    assert (one.words, one.is_persons) == ("innermost", True)
            assert (one.words, one.is_persons) == ("outer", False)
        assert persons == ["inner"]
    finally:
        HEARD.reset(token)


def test_what_began_later_may_last_longer():
    one = Doing(on_person=lambda: None)
    token = HEARD.set(one)
    try:
        first, second = doing(lambda: "first"), doing(lambda: "second")
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert one.words == "second"
        one.end()
        second.__exit__(None, None, None)
        assert one.words == ""
    finally:
        HEARD.reset(token)


def test_nobody_who_is_not_heard_finds_words():
    def words() -> str:
        raise AssertionError("nobody asked")

    assert not is_heard()
    with doing(words, is_persons=True):
        pass
