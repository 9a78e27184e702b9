// What is known here of the daemon: sessions, questions, the log, numbers. The live feed changes it; views look at it and
// listen to the kind of change that they show. A gap in the log's numbers is read from the daemon, so nothing is lost.

/**
 * @typedef {object} Tab
 * @property {string} name
 * @property {string} url
 * @property {string} title
 * @property {boolean} loading
 * @property {boolean} crashed
 * @property {string} picking what the person is asked to point at
 * @property {{kind: string, message: string} | null} dialog
 */
/**
 * @typedef {object} Session
 * @property {string} id
 * @property {string} caller
 * @property {string} connection
 * @property {string} browser
 * @property {string} profile
 * @property {string} mode
 * @property {number} opened_ms
 * @property {number} busy
 * @property {boolean} paused the person has the wheel
 * @property {number} waiting calls that wait meanwhile
 * @property {string} current
 * @property {Tab[]} tabs
 */
/** @typedef {{n: number, time: string, kind: string, record: any, after: any, shot: boolean}} Entry a line of the log */
/** @typedef {'sessions' | 'questions' | 'log' | 'health' | 'connection' | 'question'} Change */

const FIRST = 1_000;
const PAGE = 2_000;
const MOST = 50_000;
const HEALTH_KEPT = 180;

export class Store extends EventTarget {
  /** @param {import('./api.js').Api} api */
  constructor(api) {
    super();
    this.api = api;
    this.version = '';
    /** @type {'live' | 'away' | 'ended'} */
    this.connection = 'away';
    /** @type {Session[]} */
    this.sessions = [];
    /** @type {Map<string, any>} open questions, oldest first; `seen` is when it came here */
    this.pending = new Map();
    /** @type {any[]} */
    this.recent = [];
    /** @type {any[]} */
    this.grants = [];
    /** @type {Entry[]} oldest first */
    this.log = [];
    /** @type {Map<number, Entry>} */
    this.byNumber = new Map();
    this.last = 0;
    this.first = 0;
    /** @type {{at: number, numbers: Record<string, number>, browsers: Record<string, any>, endpoints: Record<string, any>}[]} */
    this.health = [];
    /** @type {Set<number>} */
    this.shots = new Set();
    /** @type {any[]} records that came while a gap is being filled */
    this.early = [];
    this.isFilling = false;
  }

  /** @param {Change} change @param {() => void} listener @returns {() => void} ends it */
  on(change, listener) {
    this.addEventListener(change, listener);
    return () => this.removeEventListener(change, listener);
  }

  /** @param {Change} change */
  changed(change) {
    this.dispatchEvent(new Event(change));
  }

  /** @param {'live' | 'away' | 'ended'} state */
  connected(state) {
    this.connection = state;
    this.changed('connection');
  }

  /** @param {any} word of the live feed */
  take(word) {
    const known = /** @type {Record<string, (word: any) => void>} */ ({
      state: this.#state,
      sessions: this.#sessions,
      record: this.#record,
      shot: this.#shot,
      health: this.#health,
      pending: this.#pending,
      granted: this.#granted,
      revoked: this.#revoked,
      answered: this.#ended,
      denied: this.#ended,
      expired: this.#ended,
      withdrawn: this.#ended,
      allowed: this.#ended,
    });
    if (Object.hasOwn(known, word.kind)) known[word.kind].call(this, word);
  }

  /** @param {any} word */
  #state(word) {
    this.version = word.version;
    this.sessions = word.sessions;
    this.recent = word.recent;
    this.grants = word.grants;
    this.pending = new Map(word.pending.map((/** @type {any} */ one) => [one.id, asked(one)]));
    if (this.last > word.last) this.#forget();
    for (const change of /** @type {Change[]} */ (['sessions', 'questions', 'question'])) this.changed(change);
    void this.#fillTo(word.last);
  }

  /** The log began anew. */
  #forget() {
    this.log = [];
    this.byNumber.clear();
    this.last = this.first = 0;
  }

  /** @param {any} word */
  #sessions(word) {
    this.sessions = word.sessions;
    this.changed('sessions');
  }

  /** @param {any} word */
  #pending({ approval }) {
    this.pending.set(approval.id, asked(approval));
    this.changed('questions');
    this.changed('question');
  }

  /** @param {any} word */
  #ended({ approval }) {
    this.pending.delete(approval.id);
    this.recent = [approval, ...this.recent.filter((one) => one.id !== approval.id)].slice(0, 50);
    this.changed('questions');
  }

  /** @param {any} word */
  #granted({ grant }) {
    this.grants = [...this.grants.filter((one) => one.id !== grant.id), grant];
    this.changed('questions');
  }

  /** @param {any} word */
  #revoked({ id }) {
    this.grants = this.grants.filter((one) => one.id !== id);
    this.changed('questions');
  }

  /** @param {any} word */
  #health(word) {
    this.health.push({ at: Date.now(), numbers: word.numbers, browsers: word.browsers, endpoints: word.endpoints });
    if (this.health.length > HEALTH_KEPT) this.health.shift();
    this.changed('health');
  }

  /** @param {any} word */
  #shot({ n }) {
    this.shots.add(n);
    const entry = this.byNumber.get(n);
    if (entry) entry.shot = true;
    this.changed('log');
  }

  // The log

  /** @param {any} word */
  #record({ record }) {
    if (this.isFilling || (this.last && record.n > this.last + 1)) {
      this.early.push(record);
      if (!this.isFilling) void this.#fillTo(record.n - 1);
      return;
    }
    this.#add([record]);
  }

  /** Read what is missing up to a number, then go on with what came meanwhile. @param {number} number */
  async #fillTo(number) {
    if (this.isFilling) return;
    this.isFilling = true;
    try {
      if (!this.last) await this.#begin();
      for (let before = -1; this.last < number && before !== this.last;) {
        before = this.last;
        this.#take(await this.api.get(`/api/activity?after=${this.last}&limit=${PAGE}`));
      }
    } catch {
      // The connection broke: the next `state` tries again.
    }
    this.isFilling = false;
    const early = this.early;
    this.early = [];
    this.#add(early);
  }

  async #begin() {
    const told = await this.api.get(`/api/activity?limit=${FIRST}`);
    this.first = told.records[0]?.n ?? 0;
    this.#take(told);
  }

  /** @param {{records: any[], shots: number[]}} told */
  #take({ records, shots }) {
    for (const n of shots) this.shots.add(n);
    this.#add(records);
  }

  /** Older lines than those that are here. @returns {Promise<boolean>} whether there may be more */
  async older() {
    if (this.first <= 1) return false;
    const { records } = await this.api.get(`/api/activity?before=${this.first}&limit=${PAGE}`);
    if (!records.length) return false;
    const newer = this.log;
    this.log = [];
    for (const record of records) this.#note(record);
    this.log = this.log.concat(newer);
    this.first = records[0].n;
    this.changed('log');
    return this.first > 1;
  }

  /** @param {any[]} records */
  #add(records) {
    for (const record of records) {
      if (record.n <= this.last) continue;
      this.last = record.n;
      this.#note(record);
    }
    if (this.log.length > MOST)
      for (const gone of this.log.splice(0, this.log.length - MOST)) this.byNumber.delete(gone.n);
    if (records.length) this.changed('log');
  }

  /** @param {any} record */
  #note(record) {
    if (record.event === 'after') {
      const entry = this.byNumber.get(record.of);
      if (entry) entry.after = record;
      return;
    }
    const { n, time, event } = record;
    const entry = { n, time, kind: event, record, after: null, shot: this.shots.has(n) };
    this.byNumber.set(n, entry);
    this.log.push(entry);
  }
}

/** @param {any} question */
function asked(question) {
  return { ...question, seen: performance.now(), endsAt: Date.now() + question.expires_in_s * 1000 };
}
