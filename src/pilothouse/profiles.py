"""Profiles as they stand in config.toml: read anew each time, written so that everything else in the file stays.

Above: the tools of the set `profiles`, the browsers that are launched with them, `pilothouse profile`. Below: config,
editing, tables, errors. The file is a person's: comments and order are kept, one with a mistake is never overwritten.
"""

import contextlib
import re
import shutil
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from pilothouse.config import parse
from pilothouse.editing import edited, read_text
from pilothouse.errors import Failure
from pilothouse.options import HIDDEN, PROXY_HINT, Profile, Size, proxy_fault, shown_proxy
from pilothouse.tables import with_changes, with_entry, without_entry

__all__ = ["Profile", "Profiles", "Size", "shown_proxy"]


class Profiles:
    """The profiles of one home. `folder` is where their data lives unless a person says otherwise.

    Only `by_person` may `add` and `change` name a directory elsewhere.
    """

    def __init__(self, home: Path, file: Path | None = None, *, by_person: bool = False) -> None:
        self._by_person = by_person
        self._file = file or home / "config.toml"
        self.folder = home / "profiles"

    def all(self) -> list[Profile]:
        return list(parse(self._text(), str(self._file)).profiles)

    def get(self, profile_id: str) -> Profile:
        """By its id, or by its name if only one is called so."""
        every = self.all()
        found = [one for one in every if one.id == profile_id] or [one for one in every if one.name == profile_id]
        if len(found) == 1:
            return found[0]
        known = ", ".join(one.id for one in every[:20])
        raise Failure(
            "not_found",
            f"there is no profile {profile_id[:80]!r}" if not found else f"{len(found)} profiles have this name",
            details={"profiles": [one.id for one in every]},
            suggestions=[f"profiles: {known}" if known else "there is none yet: create_profile makes one"],
        )

    def has(self, profile_id: str) -> bool:
        """Is there a profile of this id? A file that cannot be read has none."""
        with contextlib.suppress(Failure):
            return any(one.id == profile_id for one in self.all())
        return False

    def data_dir(self, profile: Profile) -> Path:
        """Where Chrome keeps what belongs to this profile."""
        try:
            return (self.folder / Path(profile.user_data_dir or profile.id).expanduser()).resolve()
        except (RuntimeError, ValueError, OSError) as error:  # ~ of nobody, a character that no path has
            raise Failure("bad_request", f"user_data_dir of profile {profile.id}: {error}") from None

    def is_ours(self, profile: Profile) -> bool:
        """Is its data directly in our folder? Only there do we make and remove directories."""
        return self.data_dir(profile).parent == self.folder.resolve()

    def add(self, values: dict[str, Any]) -> Profile:
        """A new profile; without an id it gets one from its name."""

        def added(text: str) -> tuple[str, str]:
            every = parse(text, str(self._file)).profiles
            taken = {one.id for one in every}
            profile_id = values.get("id") or _slug(values.get("name", ""), taken | self._folders_of(every))
            if profile_id in taken:
                raise Failure(
                    "bad_request",
                    f"there is a profile {profile_id} already",
                    suggestions=["update_profile changes it", "or choose another id"],
                )
            entry = {"id": profile_id, **{key: value for key, value in values.items() if key != "id"}}
            return profile_id, with_entry(text, "profiles", _only_told(entry), str(self._file))

        return self._write(added, {"user_data_dir": "", **values})

    def change(self, profile_id: str, values: dict[str, Any]) -> Profile:
        """Other values for some keys; an empty one takes the key out. The id stays what it is."""

        def changed(text: str) -> tuple[str, str]:
            profiles = parse(text, str(self._file)).profiles
            at = _position(profiles, chosen)
            new = _without_shown(values, profiles[at])
            return chosen, with_changes(text, "profiles", at, _plain(new), str(self._file))

        chosen = self.get(profile_id).id
        return self._write(changed, values)

    def remove(self, profile_id: str, *, data: bool = False) -> Profile:
        """Take it out of the file; with `data` its directory goes too, if it is one of ours."""
        gone = self.get(profile_id)
        if data and not self.is_ours(gone):
            raise Failure(
                "denied",
                f"the data of {gone.id} is not in {self.folder}: only a person may remove it",
                suggestions=["leave `data` out to remove the profile and keep its directory"],
            )

        def removed(text: str) -> tuple[str, str]:
            every = parse(text, str(self._file)).profiles
            at = _position(every, gone.id)
            if data:
                self._check_alone(gone, every)
            return "", without_entry(text, "profiles", at, str(self._file))

        self._write(removed, {})
        if data:
            shutil.rmtree(self.data_dir(gone), ignore_errors=True)
        return gone

    # The file

    def _text(self) -> str:
        return read_text(self._file)

    def _write(self, edit: Callable[[str], tuple[str, str]], values: dict[str, Any]) -> Profile:
        """`edit` gives the id of the profile it is about (empty when it is gone) and the new text."""

        def checked(text: str) -> tuple[str, Profile]:
            profile_id, new = edit(text)
            profiles = parse(new, str(self._file)).profiles
            found = next((one for one in profiles if one.id == profile_id), None)
            if found:
                self._check(found, values, profiles)
            return new, found or Profile(id="gone")

        return edited(self._file, checked)

    def _check(self, profile: Profile, values: dict[str, Any], every: list[Profile]) -> None:
        _check_name(profile, values.get("name") or "", every)
        if HIDDEN in profile.proxy_server and values.get("proxy_server"):
            raise Failure(
                "bad_request",
                f"proxy_server has {HIDDEN} where its user and password should be",
                suggestions=["give the whole address", "or leave proxy_server out to keep what it is"],
            )
        if values.get("proxy_server") and (fault := proxy_fault(profile.proxy_server)):
            raise Failure("bad_request", f"proxy_server: {fault}", suggestions=[PROXY_HINT])
        if profile.timezone and not _is_zone(profile.timezone):
            hint = "a name such as Europe/Berlin"
            raise Failure("bad_request", f"there is no time zone {profile.timezone}", suggestions=[hint])
        if "user_data_dir" not in values:
            return
        if values["user_data_dir"] and not self._by_person and not self.is_ours(profile):
            raise Failure(
                "denied",
                f"user_data_dir must be a name in {self.folder}",
                suggestions=["leave it out", f"another directory only a person can list, in {self._file}"],
            )
        same = [one.id for one in every if one.id != profile.id and self.data_dir(one) == self.data_dir(profile)]
        if same:
            raise Failure("bad_request", f"that user_data_dir belongs to profile {same[0]}")

    def _check_alone(self, profile: Profile, every: list[Profile]) -> None:
        """Nobody else's data is in its directory, or goes with it."""
        here = self.data_dir(profile)
        others = [one.id for one in every if one.id != profile.id and self.data_dir(one).is_relative_to(here)]
        if others:
            raise Failure(
                "in_use",
                f"the data of profile {others[0]} is in the same directory",
                suggestions=["leave `data` out to remove the profile and keep its directory"],
            )

    def _folders_of(self, every: list[Profile]) -> set[str]:
        """The names in our folder that are somebody's, as they are compared where capitals do not count."""
        return {self.data_dir(one).name.casefold() for one in every if self.is_ours(one)}


def _check_name(profile: Profile, name: str, every: list[Profile]) -> None:
    """Two of one name could only be told apart by ids that nobody chose."""
    wanted = name.casefold()
    same = [one.id for one in every if one.id != profile.id and wanted and wanted in (one.name.casefold(), one.id)]
    if same:
        raise Failure(
            "bad_request",
            f"there is a profile of this name already: {same[0]}",
            suggestions=["update_profile changes it", "or choose another name"],
        )


def _position(profiles: list[Profile], profile_id: str) -> int:
    for at, one in enumerate(profiles):
        if one.id == profile_id:
            return at
    raise Failure("not_found", f"there is no profile {profile_id} any more", suggestions=["list_profiles"])


def _without_shown(values: dict[str, Any], before: Profile) -> dict[str, Any]:
    """A proxy that comes back as it was shown, with its password masked, is meant to stay what it is."""
    if HIDDEN in (shown := values.get("proxy_server") or "") and shown == shown_proxy(before.proxy_server):
        return {key: value for key, value in values.items() if key != "proxy_server"}
    return values


def _slug(name: str, taken: set[str]) -> str:
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:50].strip("-") or "profile"
    candidates = [slug, *(f"{slug}-{number}" for number in range(2, len(taken) + 3))]
    return next(one for one in candidates if one not in taken)


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """A size as plain data, and None for what says nothing."""
    return {key: None if value in ("", []) else msgspec.to_builtins(value) for key, value in values.items()}


def _only_told(values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in _plain(values).items() if value is not None}


def _is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return not _knows_zones()
    return True


def _knows_zones() -> bool:
    """A system without time zone data cannot say that a name is wrong."""
    try:
        ZoneInfo("Europe/Berlin")
    except ZoneInfoNotFoundError:
        return False
    return True
