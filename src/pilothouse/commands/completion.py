"""What a shell offers when somebody presses Tab, and the scripts that make it ask.

Above: entry, the `completion` command. Below: manifest. Only the standard library: people notice 100 ms here.
"""

from __future__ import annotations

import sys

from pilothouse.commands import manifest
from pilothouse.commands.arguments import positional
from pilothouse.home import directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Entry = dict[str, Any]
    Offers = list[tuple[str, str]]

SHELLS = ("bash", "zsh", "fish")
_EVERY = [("--json", "the answer as JSON"), ("--output", "file"), ("--timeout", "seconds"), ("--help", "")]

SCRIPTS = {
    "bash": """\
# Put into ~/.bashrc:  eval "$(pilothouse completion bash)"
_pilothouse() {
  local IFS=$'\\n'
  COMPREPLY=($("${COMP_WORDS[0]}" --complete bash "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _pilothouse pilothouse
""",
    "zsh": """\
#compdef pilothouse
# Put into ~/.zshrc:  eval "$(pilothouse completion zsh)"
_pilothouse() {
  local -a offers
  offers=("${(@f)$("${words[1]}" --complete zsh "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "${offers[1]}" ]]; then _describe pilothouse offers; else _files; fi
}
compdef _pilothouse pilothouse
""",
    "fish": """\
# Put into ~/.config/fish/completions/pilothouse.fish:  pilothouse completion fish > (that file)
function __pilothouse_offers
    set -l before (commandline -opc)
    set -e before[1]
    set -l current (commandline -ct)
    pilothouse --complete fish $before "$current" 2>/dev/null
end
complete -c pilothouse -a '(__pilothouse_offers)'
""",
}


def complete(arguments: list[str]) -> int:
    """Print what may stand for the last word. Never an error: a shell shows those in the middle of a line."""
    shell, *words = arguments or [""]
    try:
        for value, about in offers(manifest.read(directory()), words or [""]):
            sys.stdout.write(_line(shell, value, about))
    except (OSError, KeyError):
        return 1
    return 0


def offers(known: Entry, words: list[str]) -> Offers:
    *before, current = words
    if not before:
        return _matching(_names(known, current), current)
    tool = manifest.find(known, before[0])
    if tool is None:
        return _matching(_administrative(known, before), current)
    return _matching(_for_tool(tool, before[1:], current), current)


def _names(known: Entry, current: str) -> Offers:
    """With dashes, as one types them; with underscores or dots only for those who began so."""
    names: Offers = []
    for one in known["tools"]:
        names.append((one["name"] if "_" in current else one["name"].replace("_", "-"), one["about"]))
        names += [(alias, one["about"]) for alias in one["aliases"] if "." in current]
    return names + [(one["name"], one["about"]) for one in known["commands"]]


def _administrative(known: Entry, before: list[str]) -> Offers:
    found = next((one for one in known["commands"] if one["name"] == before[0]), None)
    if found is None:
        return []
    for choices in (one["choices"] for one in found["options"] if one["name"] == before[-1]):
        return [(choice, "") for choice in choices]
    options = [(one["name"], one["about"]) for one in found["options"]]
    return [(choice, "") for choice in found["choices"] if choice not in before] + options


def _for_tool(tool: Entry, before: list[str], current: str) -> Offers:
    parameters: dict[str, Entry] = {one["name"]: one for one in tool["parameters"]}
    if before[-1:] == ["="]:  # bash takes --button=le apart
        before = before[:-1]
    named = _option_name(before[-1]) if before and before[-1].startswith("--") else ""
    if named in parameters and parameters[named]["kind"] != "boolean":
        return _choices(parameters[named])
    if current.startswith("-"):
        return [offer for one in tool["parameters"] for offer in _options(one)] + _EVERY
    if named in ("output",):
        return []
    place = _standing(parameters, before)
    order = positional(tool)
    return _choices(order[place]) if place < len(order) else []


def _standing(parameters: dict[str, Entry], before: list[str]) -> int:
    """How many words before the last stand without a name."""
    count, words = 0, iter(before)
    for word in words:
        if not word.startswith("--"):
            count += 1
        elif "=" not in word and not _is_switch(parameters, word):
            next(words, None)
    return count


def _is_switch(parameters: dict[str, Entry], word: str) -> bool:
    if word in ("--json", "--help") or word.startswith("--no-"):
        return True
    return parameters.get(_option_name(word), {}).get("kind") == "boolean"


def _option_name(word: str) -> str:
    return word[2:].partition("=")[0].replace("-", "_")


def _options(parameter: Entry) -> Offers:
    name, about = parameter["name"].replace("_", "-"), parameter.get("about", "")
    if parameter["kind"] == "boolean" and parameter.get("default") is True:
        return [(f"--no-{name}", about)]
    return [(f"--{name}", about)]


def _choices(parameter: Entry) -> Offers:
    return [(choice, "") for choice in parameter.get("choices") or parameter.get("of", {}).get("choices", [])]


def _matching(found: Offers, current: str) -> Offers:
    if current == "=":
        current = ""
    return [(value, about) for value, about in found if value.startswith(current)]


def _line(shell: str, value: str, about: str) -> str:
    if shell == "zsh":
        return f"{value.replace(':', chr(92) + ':')}:{about}\n" if about else f"{value}\n"
    return f"{value}\t{about}\n" if shell == "fish" and about else f"{value}\n"
