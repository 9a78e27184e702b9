// What is known here of the daemon: sessions, questions, the log, numbers. The live feed changes it; views look at it and
// listen to the kind of change that they show. A gap in the log's numbers is read from the daemon, so nothing is lost.

/**
 * @typedef {object} Tab
 * @property {string} name
 * @property {string} target the browser's own name of it
 * @property {string} url
 * @property {string} title
 * @property {boolean} loading
 * @property {boolean} crashed
 * @property {string} picking what the person is asked to point at
 * @property {boolean} picks_own whether they wanted to themselves
 * @property {{number: number, kind: string, message: string} | null} dialog
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
/** @typedef {'sessions' | 'questions' | 'log' | 'health' | 'connection' | 'question' | 'policy'} Change */

const FIRST = 1_000;
const PAGE = 2_000;
const MOST = 50_000;
const SHOTS_KEPT = 1_000;
const AGAIN_MS = 1_000;
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
    /** @type {Map<number, Entry>} calls of which the log does not say yet how they ended */
    this.running = new Map();
    /** @type {Map<number, any>} how calls ended that are older than what is here, by their number */
    this.endings = new Map();
    this.last = 0;
    this.first = 0;
    this.goal = 0; // the last line that there is
    this.started = 0; // the last line that says that the daemon started: what ran before runs no more
    this.isFilling = false;
    this.life = 0; // of the log: it may begin anew
    /** @type {() => void} */
    this.hurry = () => {};
    /** @type {{at: number, numbers: Record<string, number>, browsers: Record<string, any>, endpoints: Record<string, any>}[]} */
    this.health = [];
    /** @type {Set<number>} */
    this.shots = new Set();
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
      policy: () => this.changed('policy'),
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
    for (const one of [this.byNumber, this.running, this.endings, this.shots]) one.clear();
    this.last = this.first = this.goal = this.started = 0;
    this.life += 1;
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
    this.#pictured([n]);
    this.changed('log');
  }

  /** @param {number[]} numbers of lines that have a picture; some may be here already */
  #pictured(numbers) {
    for (const n of numbers) {
      this.shots.add(n);
      const entry = this.byNumber.get(n);
      if (entry) entry.shot = true;
    }
    for (const old of this.shots) if (this.shots.size > SHOTS_KEPT) this.shots.delete(old);
  }

  // The log

  /** @param {any} word */
  #record({ record }) {
    if (this.isFilling || record.n > this.last + 1) void this.#fillTo(record.n);
    else this.#add([record]);
  }

  /**
   * Read on until a line is here. What comes meanwhile is read as well, and a reading that fails is done again: `last`
   * never passes a line that can be read.
   * @param {number} number
   */
  async #fillTo(number) {
    this.goal = Math.max(this.goal, number);
    this.hurry();
    if (this.isFilling) return;
    this.isFilling = true;
    do {
      const { life, goal } = this;
      const which = this.last ? `after=${this.last}&limit=${PAGE}` : `limit=${FIRST}`;
      try {
        const told = await this.api.get(`/api/activity?${which}`);
        if (life === this.life) this.#take(told, goal);
      } catch {
        await this.#pause();
      }
    } while (this.last < this.goal && this.connection !== 'ended');
    this.isFilling = false;
  }

  /** The connection broke, or the daemon is busy: again in a moment, or when more is known. */
  #pause() {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, AGAIN_MS);
      this.hurry = () => (clearTimeout(timer), resolve(undefined));
    });
  }

  /** @param {{records: any[], shots: number[]}} told @param {number} goal a line that was there when it was asked for */
  #take({ records, shots }, goal) {
    this.#pictured(shots);
    this.#add(records);
    if (!records.length && shots.length) this.changed('log');
    if (!records.length) this.last = Math.max(this.last, goal); // they cannot be read any more
  }

  /** Older lines than those that are here. @returns {Promise<boolean>} whether there may be more */
  async older() {
    const { life, first } = this;
    if (first <= 1) return false;
    const { records } = await this.api.get(`/api/activity?before=${first}&limit=${PAGE}`);
    if (life !== this.life || first !== this.first || !records.length) return false;
    const newer = this.log;
    this.log = [];
    for (const record of records) this.#note(record);
    this.log = this.log.concat(newer);
    this.first = records[0].n;
    this.#settle();
    this.changed('log');
    return this.first > 1;
  }

  /** @param {any[]} records */
  #add(records) {
    for (const record of records) {
      if (record.n <= this.last) continue;
      this.first ||= record.n;
      this.last = record.n;
      this.#note(record);
    }
    this.#cut();
    this.#settle();
    if (records.length) this.changed('log');
  }

  /** The oldest lines go when there are too many; they can be read again. */
  #cut() {
    if (this.log.length <= MOST) return;
    const gone = this.log.splice(0, this.log.length - MOST);
    this.first = this.log[0].n;
    for (const { n, after } of gone) {
      this.byNumber.delete(n);
      this.running.delete(n);
      if (after?.n > this.first) this.endings.set(n, after);
    }
    for (const old of this.endings.keys()) if (this.endings.size > MOST) this.endings.delete(old);
  }

  /** What ran when the daemon ended runs no more. */
  #settle() {
    for (const [n, entry] of this.running) {
      if (n > this.started) continue;
      entry.after = { n: this.started, outcome: 'interrupted' };
      this.running.delete(n);
    }
  }

  /** @param {any} record */
  #note(record) {
    const { n, time, event } = record;
    if (event === 'after') return this.#end(record);
    if (event === 'start') this.started = Math.max(this.started, n);
    /** @type {Entry} */
    const entry = { n, time, kind: event, record, after: this.endings.get(n) ?? null, shot: this.shots.has(n) };
    this.endings.delete(n);
    this.byNumber.set(n, entry);
    if (event === 'before' && !entry.after) this.running.set(n, entry);
    this.log.push(entry);
  }

  /** @param {any} record how a call ended */
  #end(record) {
    const entry = this.byNumber.get(record.of);
    if (!entry) return void this.endings.set(record.of, record);
    entry.after = record;
    this.running.delete(record.of);
  }
}

/** @param {any} question */
function asked(question) {
  return { ...question, seen: performance.now(), endsAt: Date.now() + question.expires_in_s * 1000 };
}
