"""`/api/policy`: the policy for people. What it says, what it would say, and other rules; never for an agent's key.

Above: http, which has checked whose key it is; person lets the person in and nobody else. Below: guard's rulebook (the
file) and policy (what holds). Every change is in the audit log.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope

from pilothouse.doors import body
from pilothouse.doors.address import Address, Method, told
from pilothouse.doors.person import PersonOnly
from pilothouse.errors import Failure
from pilothouse.guard.audit import Audit
from pilothouse.guard.explain import explained
from pilothouse.guard.policy import Policy, Question
from pilothouse.guard.rulebook import SETTINGS, Rulebook, read_host, refuse_to_forget, version_of
from pilothouse.guard.rulebook import told as in_words
from pilothouse.guard.rules import Rules
from pilothouse.tool import Access, Registry

Answer = dict[str, Any]
Text = Annotated[str, Meta(max_length=1_000_000)]
Short = Annotated[str, Meta(max_length=65_536)]


class _Whole(msgspec.Struct, forbid_unknown_fields=True):
    text: Text
    version: Short = ""


class _NewRule(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """What is left out stays as it is; null takes it out of the rule."""

    host: Short
    read: bool | msgspec.UnsetType | None = msgspec.UNSET
    write: bool | msgspec.UnsetType | None = msgspec.UNSET
    approval: bool | msgspec.UnsetType | None = msgspec.UNSET
    max_steps_per_hour: int | msgspec.UnsetType | None = msgspec.UNSET
    resources: list[str] | msgspec.UnsetType | None = msgspec.UNSET


class _Settings(msgspec.Struct, forbid_unknown_fields=True):
    template: str | msgspec.UnsetType | None = msgspec.UNSET
    mode: str | msgspec.UnsetType | None = msgspec.UNSET
    default: str | msgspec.UnsetType | None = msgspec.UNSET
    step_budget: int | msgspec.UnsetType | None = msgspec.UNSET


class _Test(msgspec.Struct, forbid_unknown_fields=True):
    url: Short
    tool: Short = ""
    browser: Short = "isolated"
    mode: Short = "auto"


class PolicyDoor:
    def __init__(
        self, policy: Policy, rulebook: Rulebook, registry: Registry, audit: Audit, person: PersonOnly
    ) -> None:
        self._person = person
        self._policy = policy
        self._rulebook = rulebook
        self._registry = registry
        self._audit = audit
        self._person = person

    def routes(self) -> list[Route]:
        return [
            Route("/api/policy", self._at(GET=self._show, PUT=self._put, PATCH=self._set)),
            Route("/api/policy/test", self._at(POST=self._test)),
            Route("/api/policy/rules", self._at(POST=self._add, DELETE=self._drop)),
        ]

    def _at(self, **methods: Callable[[Request], Awaitable[Answer]]) -> Address:
        def answering(method: Callable[[Request], Awaitable[Answer]]) -> Method:
            async def answered(scope: Scope, receive: Receive) -> Response:
                return told(await method(Request(scope, receive)))

            return answered

        return Address(self._person.check, **{name: answering(one) for name, one in methods.items()})

    async def _show(self, request: Request) -> Answer:
        return self._told(self._policy.rules)

    async def _put(self, request: Request) -> Answer:
        given = _given(request, _Whole)
        args = {"version": version_of(given.text), "characters": len(given.text)}
        return await self._changed(request, args, lambda: self._rulebook.put(given.text, version=given.version))

    async def _set(self, request: Request) -> Answer:
        given = _given(request, _Settings)
        wanted = {key: value for key in SETTINGS if (value := getattr(given, key)) is not msgspec.UNSET}
        if not wanted:
            raise Failure("bad_request", "give a setting", suggestions=[", ".join(SETTINGS)])
        change = lambda: self._rulebook.set_all(wanted)
        return await self._changed(request, wanted, change if "template" in wanted else self._kept(change))

    async def _add(self, request: Request) -> Answer:
        given = _given(request, _NewRule)
        values = {key: value for key, value in msgspec.structs.asdict(given).items() if value is not msgspec.UNSET}
        del values["host"]
        return await self._changed(
            request,
            {"host": _one_spelling(given.host), **values},
            self._kept(lambda: self._rulebook.set_rule(given.host, values, by=request.scope["pilothouse.who"])),
        )

    async def _drop(self, request: Request) -> Answer:
        host = request.query_params.get("host", "")
        return await self._changed(request, {"host": _one_spelling(host)}, lambda: self._rulebook.drop_rule(host))

    async def _test(self, request: Request) -> Answer:
        given = _given(request, _Test)
        tool = self._registry.find(given.tool) if given.tool else None
        return explained(self._policy, given.url, tool=tool, browser=given.browser, mode=given.mode)

    def _kept(self, change: Callable[[], Rules]) -> Callable[[], Rules]:
        """One line in a file that vanished would be all that holds: then only a template, or a whole text, is taken."""

        def kept() -> Rules:
            refuse_to_forget(self._rulebook, self._policy.rules)
            return change()

        return kept

    async def _changed(self, request: Request, args: Answer, change: Callable[[], Rules]) -> Answer:
        """Recorded first; then the file, then what holds. A change that is refused leaves both as they were."""
        number = await self._audit.before(_question(request.scope, args))
        outcome = "ok"
        try:
            self._policy.replace(await asyncio.to_thread(change))
        except Failure as failure:
            outcome = failure.code
            raise
        finally:
            self._audit.after(number, outcome=outcome, duration_ms=0)
        return self._told(self._policy.rules)

    def _told(self, rules: Rules) -> Answer:
        return in_words(self._rulebook, rules, self._policy.problem)


def _one_spelling(host: str) -> str:
    """The rule that would hold, for the log; what is refused is written down as it came."""
    try:
        return read_host(host).text
    except Failure:
        return host


def _given(request: Request, kind: type[Any]) -> Any:
    try:
        return msgspec.convert(body.read(request.scope["pilothouse.body"]), kind, strict=True)
    except msgspec.ValidationError as error:
        raise Failure("bad_request", str(error)) from None


def _question(scope: Scope, args: Answer) -> Question:
    who = scope["pilothouse.who"].removeprefix("agent:")
    return Question(who, "", f"{scope['method']} {scope['path']}", Access.SENSITIVE, args)
