"""Tokens as o200k_base counts them, by npm's gpt-tokenizer (its ranks come with the package; nothing is downloaded)."""

import json
import subprocess

from bench.tools import HOME, TOKENIZER, ensure, find_node

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
    """One number per text; all in one node process. Raises `Unavailable` where Node cannot be had."""
    ensure(TOKENIZER)
    done = subprocess.run(
        [find_node().node, "-e", _SCRIPT],
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        cwd=HOME,
        timeout=120,
        check=True,
    )
    return json.loads(done.stdout)
