"""Where a cookie goes: the addresses that its domain stands for, as far as rules tell them apart.

Above: policy. Below: rules, patterns. A cookie knows neither scheme nor port, and with a dot before its domain it goes
to every host below.
"""

from pilothouse.guard.patterns import WEB, Pattern, one_spelling, place_of
from pilothouse.guard.rules import Rule, Rules


def sites(place: str, rules: Rules) -> list[str]:
    """One address for every rule that could hold there, and one for each scheme. An address is one site."""
    if "://" in place:
        return [place]
    first = f"http://{_shown(place.lstrip('.').strip('[]'))}/"
    if (found := place_of(first)) is None:
        return [first]  # which nobody may
    host, below = one_spelling(found.host), place.startswith(".")
    hosts = [(host, one) for one in rules.rules] + ([(_inside(one, host), one) for one in rules.rules] if below else [])
    ruled = [url for name, one in hosts if name for url in _addresses(name, one.pattern)]
    return list(dict.fromkeys([f"{scheme}://{_shown(host)}/" for scheme in WEB] + ruled))


def _inside(one: Rule, host: str) -> str:
    """A host below that the rule is about; empty if there is none."""
    pattern = one.pattern
    if pattern.host == host or pattern.host.endswith(f".{host}"):
        return f"any.{pattern.host}" if pattern.below else pattern.host
    return f"any.{host}" if pattern.below and host.endswith(f".{pattern.host}") else ""


def _addresses(host: str, pattern: Pattern) -> list[str]:
    schemes = (pattern.scheme,) if pattern.scheme else WEB
    urls = [f"{scheme}://{_shown(host)}{f':{pattern.port}' if pattern.port else ''}/" for scheme in schemes]
    return [url for url in urls if (place := place_of(url)) and pattern.fits(place)]


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host
