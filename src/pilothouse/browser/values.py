"""What a script gives back, as JSON: whatever JSON cannot hold is written as text, and which kinds that were is told.

Above: script. Below: nothing. It runs in the page, in the world of the script, on the value itself.
"""

from typing import cast

import msgspec

# Elements are their source, dates as JSON has them, collections lists, and what knows how it looks as JSON is asked.
# What belongs to another window (a frame's) is no instance of our classes: it is known by what it says it is.
_SOURCE = """((value) => {
  const odd = new Set(), inside = new Set();
  let left = 1e6;
  const said = (kind, text) => { odd.add(kind); return text; };
  const kindOf = (one) => Reflect.apply(Object.prototype.toString, one, []);
  const lists = new Set(["Set", "NodeList", "HTMLCollection", "FileList", "DOMTokenList", "Headers", "FormData",
    "URLSearchParams", "Map"].map((name) => `[object ${name}]`));
  const cut = (text) => text.length <= 10000 ? text
    : `${text.slice(0, 10000)}… (cut: ${text.length} characters in all)`;
  const outerOf = Object.getOwnPropertyDescriptor(Element.prototype, "outerHTML").get;
  const nodeText = (one) => {
    if (kindOf(one).endsWith("Document]")) return "#document";
    try {
      return cut(one.nodeType === 1 ? Reflect.apply(outerOf, one, []) : one.textContent);
    } catch { return null; }
  };
  const number = (one) => {
    if (Object.is(one, -0)) return said("-0", "-0");
    return Number.isFinite(one) ? one : said(String(one), String(one));
  };
  const simple = {
    number, undefined: () => said("undefined", null), bigint: (one) => said("BigInt", `${one}n`),
    symbol: (one) => said("symbol", String(one)), function: (one) => said("function", `function ${one.name}`.trim()),
  };
  const entries = (one) => {
    const found = {};
    for (const key of Object.keys(one)) {
      const held = one[key];
      if (held === undefined) odd.add("undefined");
      else Object.defineProperty(found, key, { value: plain(held), enumerable: true });
    }
    return found;
  };
  const list = (some) => { const found = []; for (const one of some) found.push(plain(one)); return found; };
  const object = (one) => {
    const isNode = typeof one.nodeType === "number" && typeof one.nodeName === "string";
    const source = isNode ? nodeText(one) : null;
    if (source !== null) return source;
    if (Array.isArray(one)) return list(one);
    const kind = kindOf(one);
    if (kind === "[object Date]") return Number.isNaN(one.getTime()) ? String(one) : one.toISOString();
    if (kind === "[object RegExp]" || kind === "[object Error]" || one instanceof Error) return String(one);
    if (lists.has(kind)) return list(one);
    if (ArrayBuffer.isView(one) && typeof one.length === "number") return list(one);
    if (typeof one.toJSON === "function") return plain(one.toJSON());
    const bare = kind !== "[object Object]" && !Object.keys(one).length;
    if (kind === "[object Window]" || bare) return said(kind, kind);
    return entries(one);
  };
  const plain = (one) => {
    if (one === null || typeof one === "string" || typeof one === "boolean") return one;
    if (typeof one !== "object") return simple[typeof one](one);
    if (inside.has(one)) return said("a circle", "[circular]");
    if (inside.size > 100 || left-- <= 0) return said("too much", "…");
    inside.add(one);
    try { return object(one); } finally { inside.delete(one); }
  };
  return { value: plain(value), odd: [...odd] };
})"""
# The page may have replaced whatever makes these up: only these are told, and of anything else that it is an object.
_KINDS = ("-0", "NaN", "Infinity", "-Infinity", "undefined", "BigInt", "symbol", "function", "a circle", "too much")
PLAIN = " ".join(line.strip() for line in _SOURCE.splitlines())  # every call sends it, and the page reads it anew


def kinds(told: object) -> list[str]:
    """Which kinds of things there were, in words of ours."""
    named = cast(list[object], told) if isinstance(told, list) else []
    return list(dict.fromkeys(str(one) if one in _KINDS else "an object" for one in named))


class Returned(msgspec.Struct, frozen=True):
    """`odd` are the kinds of things that JSON cannot hold."""

    value: object = None
    odd: list[str] = []

    @property
    def note(self) -> str:
        if not self.odd or self.odd == ["undefined"]:
            return ""
        return f"as text, for JSON has none: {', '.join(self.odd)}"
