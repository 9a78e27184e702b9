"""F07: the page's own memory of the log loses nothing: readings that fail, lines that break, pages read backwards."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import pilothouse
from tests.promises import promise

pytestmark = promise("F07")

UI = Path(pilothouse.__file__).parent / "ui"
TOOLS = Path(__file__).parents[2] / ".tools" / "node_modules" / ".bin"
HOUSE = """
import assert from 'node:assert/strict';
import { Store } from './store.js';
const note = (n) => ({ n, time: '', event: 'note', kind: 'k', told: {} });
const state = (last) => ({ kind: 'state', version: '', sessions: [], pending: [], recent: [], grants: [], last });
const record = (one) => ({ kind: 'record', record: one });
class Daemon {
  log = [];
  fails = 0;
  gate = null; // while it is a promise, answers wait for it, made of what was there when they were asked for
  write(...some) { this.log.push(...some); }
  notes(from, to) { for (let n = from; n <= to; n++) this.write(note(n)); }
  shots = [];
  async get(path) {
    const asked = new URLSearchParams(path.split('?')[1]);
    const { log } = this, limit = Number(asked.get('limit'));
    const after = asked.get('after'), before = Number(asked.get('before'));
    const records = after === null
      ? log.filter(({ n }) => !before || n < before).slice(-limit)
      : log.filter(({ n }) => n > Number(after)).slice(0, limit);
    if (this.gate) await this.gate;
    if (this.fails-- > 0) throw new Error('busy');
    return { records, shots: this.shots };
  }
}
const numbers = (store) => store.log.map(({ n }) => n);
const upTo = (count) => Array.from({ length: count }, (_, at) => at + 1);
const until = async (is) => { for (const end = Date.now() + 5000; !is(); ) { assert(Date.now() < end, 'in time'); await new Promise((done) => setTimeout(done)); } };
const daemon = new Daemon();
const store = new Store(daemon);
"""
TALES = {
    "pictures that were taken while the line was broken": """
daemon.notes(1, 10);
store.take(state(10));
await until(() => store.last === 10 && !store.isFilling);
daemon.shots = [4];
let changes = 0;
store.on('log', () => (changes += 1));
store.take(state(10));
await until(() => !store.isFilling);
assert.equal(store.byNumber.get(4).shot, true);
assert.equal(changes, 1);
""",
    "a pass that has ended": """
let asked = 0;
daemon.get = async () => { asked += 1; throw new Error('401'); };
store.take(state(10));
store.connected('ended');
await until(() => !store.isFilling);
assert.equal(asked, 1);
""",
    "a reading that fails": """
daemon.notes(1, 10);
store.take(state(10));
await until(() => store.last === 10);
daemon.notes(11, 21);
daemon.fails = 1;
store.take(state(20));
store.take(record(note(21)));
await until(() => store.last === 21 && !store.isFilling);
assert.deepEqual(numbers(store), upTo(21));
""",
    "a line that breaks while a gap is read": """
daemon.notes(1, 10);
store.take(state(10));
await until(() => store.last === 10);
daemon.notes(11, 15);
let open = () => {};
daemon.gate = new Promise((done) => { open = done; });
store.take(state(15));
daemon.notes(16, 31);
store.take(state(30));
store.take(record(note(31)));
daemon.gate = null;
open();
await until(() => store.last === 31 && !store.isFilling);
assert.deepEqual(numbers(store), upTo(31));
""",
    "a gap in what comes live": """
daemon.notes(1, 3);
store.take(state(3));
await until(() => store.last === 3);
daemon.notes(4, 9);
store.take(record(note(9)));
await until(() => store.last === 9);
assert.deepEqual(numbers(store), upTo(9));
""",
    "lines that are gone for good": """
daemon.notes(1, 3);
store.take(state(3));
await until(() => store.last === 3);
store.take(record(note(9)));
await until(() => store.last === 9 && !store.isFilling);
daemon.notes(10, 10);
store.take(record(note(10)));
assert.deepEqual(numbers(store), [1, 2, 3, 10]);
""",
    "how an older call ended": """
daemon.write({ n: 1, time: '', event: 'before', tool: 'click' });
daemon.notes(2, 1000);
daemon.write({ n: 1001, time: '', event: 'after', of: 1, outcome: 'ok', ms: 3 });
store.take(state(1001));
await until(() => store.last === 1001);
assert.equal(store.first, 2);
await store.older();
assert.equal(store.byNumber.get(1).after.outcome, 'ok');
""",
    "what a daemon that died left behind": """
daemon.write({ n: 1, time: '', event: 'before', tool: 'click' }, { n: 2, time: '', event: 'start' });
daemon.write({ n: 3, time: '', event: 'before', tool: 'click' });
store.take(state(3));
await until(() => store.last === 3);
assert.equal(store.byNumber.get(1).after.outcome, 'interrupted');
assert.equal(store.byNumber.get(3).after, null);
""",
    "more than is kept": """
daemon.notes(1, 50_100);
store.take(state(1));
await until(() => store.last === 50_100);
for (let at = 0; at < 26; at++) await store.older();
assert.equal(store.first, 1);
daemon.notes(50_101, 50_101);
store.take(record(note(50_101)));
assert.equal(store.first, numbers(store)[0]);
await store.older();
assert.deepEqual(numbers(store), upTo(50_101));
""",
}


@pytest.mark.parametrize("tale", TALES)
def test_nothing_is_lost(tmp_path: Path, tale: str):
    node = shutil.which("node", path=f"{TOOLS}:{os.environ['PATH']}")
    assert node, "scripts/tools brings node along"
    shutil.copy(UI / "store.js", tmp_path)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "tale.js").write_text(HOUSE + TALES[tale])
    told = subprocess.run(
        [node, "tale.js"], cwd=tmp_path, capture_output=True, text=True, encoding="utf-8", timeout=30, check=False
    )
    assert told.returncode == 0, told.stderr
