"""What a person's files say, in a house that runs: settings, policy and keys are taken over as they are changed.

Above: daemon. Below: the rooms that they hold for. What a change does not reach (ports, browsers, log files) is told.
"""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

import msgspec

from pilothouse.browser.sessions import Sessions
from pilothouse.browser.terms import Terms
from pilothouse.browser.warden import Bounds
from pilothouse.errors import Failure
from pilothouse.gate import Gate
from pilothouse.guard.approvals import Approvals
from pilothouse.guard.audit import Audit
from pilothouse.guard.keepers import Keepers
from pilothouse.guard.keys import Keys
from pilothouse.guard.known import known
from pilothouse.guard.policy import Policy
from pilothouse.guard.rates import Rates
from pilothouse.guard.rulebook import Rulebook, refuse_to_forget, version_of
from pilothouse.guard.rules import Rules
from pilothouse.options import Config, Endpoint, Limits
from pilothouse.options import Sluice as Gateways
from pilothouse.providers.elsewhere import Elsewhere
from pilothouse.reload import EVERY_S, Followed

_log = logging.getLogger(__name__)


class Pace:
    """The rate of calls, which two files have a say in."""

    def __init__(self, rates: Rates, policy: Policy, configured: int) -> None:
        self._rates, self._policy = rates, policy
        self.configure(configured)
        policy.on_change(lambda: self.configure(self._configured))

    def configure(self, per_minute: int) -> None:
        self._configured = per_minute
        self._rates.per_minute = self._policy.requests_per_minute(per_minute, Limits().requests_per_minute)


def apply(
    sessions: Sessions, gate: Gate, pace: Pace, place_browsers: Callable[[Config], None], settings: Config
) -> None:
    """What a running house can change."""
    place_browsers(settings)
    pace.configure(settings.limits.requests_per_minute)
    gate.timing.timeout_ms = settings.limits.tool_timeout_ms
    asking = settings.approvals
    gate.approvals.adjust(timeout_s=asking.timeout_s, client_answers=asking.client_answers)
    sessions.adjust(
        max_sessions=settings.limits.sessions,
        idle_s=settings.limits.idle_minutes * 60,
        terms=terms_of(settings, sessions.terms),
        bounds=bounds_of(settings),
    )
    logging.getLogger().setLevel(settings.log.level.upper())


def terms_of(settings: Config, fixed: Terms) -> Terms:
    return msgspec.structs.replace(
        fixed,
        max_tabs=settings.limits.tabs_per_session,
        quota_bytes=settings.files.quota_mb * 1_000_000,
        upload_roots=tuple(Path(root).expanduser() for root in settings.files.roots),
        body_max_bytes=settings.network.body_max_bytes,
        snapshot_budget=settings.snapshot.budget,
    )


def bounds_of(settings: Config) -> Bounds:
    return Bounds(
        memory_bytes=settings.limits.memory_mb * 1_000_000,
        session_memory_bytes=settings.limits.session_memory_mb * 1_000_000,
        busy_s=settings.limits.busy_seconds,
    )


def place_elsewhere(elsewhere: Elsewhere, keepers: Keepers, gateways: Gateways, settings: Config) -> None:
    """What stands in headers and passwords themselves is as secret as what is registered."""
    if settings.sluice != gateways:
        _log.warning("sluice.* was changed: browsers elsewhere go out as before until the daemon is started again")
    elsewhere.configure(settings.endpoints, settings.grid)
    keepers.replace(url for url in (settings.grid.url, *(one.url for one in settings.endpoints)) if url)
    told = {"grid password": settings.grid.password}
    told |= {key: value for one in settings.endpoints for key, value in _secrets_of(one).items()}
    known.know("endpoints", {key: value for key, value in told.items() if len(value) >= 8 and "secret:" not in value})


def _secrets_of(endpoint: Endpoint) -> dict[str, str]:
    query = endpoint.url.partition("?")[2].partition("#")[0]
    parts = {part.partition("=")[0]: part.partition("=")[2] for part in query.split("&")}
    return {f"{key} of endpoint {endpoint.name}": value for key, value in {**endpoint.headers, **parts}.items()}


async def follow_policy(file: Followed, rulebook: Rulebook, policy: Policy, audit: Audit) -> None:
    def taken(rules: Rules) -> None:
        """What a door wrote is in the log already, and holds."""
        if rules == policy.rules:
            policy.replace(rules)
            return
        refuse_to_forget(rulebook, policy.rules)
        told = {key: getattr(rules, key) or "by template" for key in ("template", "mode", "default")}
        told["template"] = rules.template or "by browser"
        version = version_of(rulebook.text())
        audit.note("policy_edited", by="the file", **told, rules=len(rules.rules), version=version)
        policy.replace(rules)

    def refused(failure: Failure) -> None:
        policy.refuse(failure.message)
        audit.note("policy_not_taken_over", by="the file", why=failure.message)

    await file.follow(rulebook.read, taken, called="the policy", but="", refused=refused)


async def follow_keys(keys: Keys) -> None:
    """Each request looks, too; what a revoked key leaves behind does not wait for one."""
    while True:
        await asyncio.sleep(EVERY_S)
        keys.look()


def keys_changed(audit: Audit, sessions: Sessions, approvals: Approvals, came: list[str], went: list[str]) -> None:
    for owner in went:
        audit.note("key_revoked", key=owner)
        name = owner.removeprefix("agent:")
        sessions.close_key(name)
        approvals.key_revoked(name)
    for owner in came:
        audit.note("key_added", key=owner)
