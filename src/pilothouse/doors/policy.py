"""`/api/policy`: the policy for people. What it says, what it would say, and other rules; never for an agent's key.

Above: http, which has checked whose key it is. Below: guard's rulebook (the file) and policy (what holds). Every
change, and every agent that tries one, is in the audit log.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from pilothouse.doors import body, parcel
from pilothouse.doors.parcel import Refused
from pilothouse.doors.person import PersonOnly
from pilothouse.errors import Failure
from pilothouse.guard.audit import Audit
from pilothouse.guard.explain import explained
from pilothouse.guard.policy import Policy, Question
from pilothouse.guard.rulebook import SETTINGS, Rulebook, told, version_of
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
        self._policy = policy
        self._rulebook = rulebook
        self._registry = registry
        self._audit = audit
        self._person = person

    def routes(self) -> list[Route]:
        return [
            Route("/api/policy", _At(self._person, {"GET": self._show, "PUT": self._put, "PATCH": self._set})),
            Route("/api/policy/test", _At(self._person, {"POST": self._test})),
            Route("/api/policy/rules", _At(self._person, {"POST": self._add, "DELETE": self._drop})),
        ]

    async def _show(self, request: Request) -> Answer:
        return self._told(self._policy.rules)

    async def _put(self, request: Request) -> Answer:
        given = _given(request, _Whole)
        args = {"version": version_of(given.text), "characters": len(given.text)}
        return await self._changed(request, args, lambda: self._rulebook.put(given.text, version=given.version))

    async def _set(self, request: Request) -> Answer:
        given = _given(request, _Settings)
        wanted = {key: value for key in SETTINGS if (value := getattr(given, key)) is not msgspec.UNSET}
        if len(wanted) != 1:
            raise Failure("bad_request", "give one setting", suggestions=[", ".join(SETTINGS)])
        ((key, value),) = wanted.items()
        return await self._changed(request, wanted, lambda: self._rulebook.set(key, value))

    async def _add(self, request: Request) -> Answer:
        given = _given(request, _NewRule)
        values = {key: value for key, value in msgspec.structs.asdict(given).items() if value is not msgspec.UNSET}
        del values["host"]
        return await self._changed(
            request,
            {"host": given.host, **values},
            lambda: self._rulebook.set_rule(given.host, values, by=request.scope["pilothouse.who"]),
        )

    async def _drop(self, request: Request) -> Answer:
        host = request.query_params.get("host", "")
        return await self._changed(request, {"host": host}, lambda: self._rulebook.drop_rule(host))

    async def _test(self, request: Request) -> Answer:
        given = _given(request, _Test)
        tool = self._registry.find(given.tool) if given.tool else None
        return explained(self._policy, given.url, tool=tool, browser=given.browser, mode=given.mode)

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
        return told(self._rulebook, rules, self._policy.problem)


class _At:
    """One address: the person's methods."""

    def __init__(self, person: PersonOnly, methods: dict[str, Callable[[Request], Awaitable[Answer]]]) -> None:
        self._person = person
        self._methods = methods

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            response = parcel.as_json({"success": True, "data": await self._answer(scope, receive), "metadata": {}})
        except Refused as refused:
            response = parcel.refusal(refused)
        except Failure as failure:
            response = parcel.refusal(Refused(failure.status, failure))
        await response(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive) -> Answer:
        self._person.check(scope)
        if scope["method"] not in self._methods:
            allowed = ", ".join(self._methods)
            failure = Failure("bad_request", "this address does not take that method", suggestions=[f"use {allowed}"])
            raise Refused(405, failure, {"allow": allowed})
        return await self._methods[scope["method"]](Request(scope, receive))


def _given(request: Request, kind: type[Any]) -> Any:
    try:
        return msgspec.convert(body.read(request.scope["pilothouse.body"]), kind, strict=True)
    except msgspec.ValidationError as error:
        raise Failure("bad_request", str(error)) from None


def _question(scope: Scope, args: Answer) -> Question:
    who = scope["pilothouse.who"].removeprefix("agent:")
    return Question(who, "", f"{scope['method']} {scope['path']}", Access.SENSITIVE, args)
