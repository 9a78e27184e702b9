"""Tokens as o200k_base counts them, by npm's gpt-tokenizer (its ranks come with the package; nothing is downloaded)."""

import json
import subprocess

from bench.tools import HOME, TOKENIZER, Unavailable, ensure

_SCRIPT = """
const { encode } = require("gpt-tokenizer/encoding/o200k_base");
let text = "";
process.stdin.on("data", part => { text += part; });
process.stdin.on("end", () => {
  const plain = { disallowedSpecial: new Set() };
  console.log(JSON.stringify(JSON.parse(text).map(one => encode(one, plain).length)));
});
"""


def count_tokens(texts: list[str]) -> list[int]:
    """One number per text; all in one node process. Raises `Unavailable` without node and npm."""
    ensure(TOKENIZER)
    try:
        done = subprocess.run(
            ["node", "-e", _SCRIPT],
            input=json.dumps(texts),
            capture_output=True,
            text=True,
            cwd=HOME,
            timeout=120,
            check=True,
        )
    except FileNotFoundError as error:
        raise Unavailable("node is not installed") from error
    return json.loads(done.stdout)
