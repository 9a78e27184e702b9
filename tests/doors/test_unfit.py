"""Words for what does not fit."""

from pilothouse.doors.unfit import MAX_FIELD_CHARS, MAX_TOLD, Unfit, in_words, unfit
from tests.promises import promise

pytestmark = promise("E02", "E03")


def problem(*where: str | int, kind: str = "missing", said: str = "Field required") -> dict[str, object]:
    return {"loc": where, "type": kind, "msg": said}


def test_a_field_is_told_by_its_place_in_the_request():
    assert unfit([problem("params", "name")]) == unfit([problem("name")]) == [Unfit("params.name", "is missing")]
    told = unfit([problem("params", "refs", 0, kind="dict_type"), problem("params")])
    assert in_words("a/b", told) == 'a/b: "params.refs.0" must be an object; "params" is missing'


def test_what_has_no_words_of_ours_has_the_others():
    (told,) = unfit([problem("level", kind="literal_error", said="Input should be 'debug' or 'info'")])
    assert told.problem == "does not fit: input should be 'debug' or 'info'"


def test_no_more_is_told_than_can_be_read():
    assert len(unfit([problem("params", f"n{number}") for number in range(100)])) == MAX_TOLD
    assert len(unfit([problem("x" * 10_000)])[0].field) == MAX_FIELD_CHARS + 1
    assert len(unfit([problem("a"), problem("a")])) == 1
