// Lines of a page's console, as Chrome tells them, in the hub's words.

/** @typedef {import('./types').ConsoleEntry} ConsoleEntry */

const MOST_CHARS = 20_000;
const MOST_ARGS = 50;
const MOST_FRAMES = 20;
const MOST_NAME = 200;

/** @type {Record<string, ConsoleEntry['level']>} */
const LEVELS = {
  debug: 'debug', verbose: 'debug', info: 'info', warning: 'warn', error: 'error', assert: 'error',
};

/** @param {string} method @param {any} params @returns {ConsoleEntry | undefined} */
export function entryOf(method, params) {
  if (method === 'Runtime.consoleAPICalled') return said(params);
  if (method === 'Runtime.exceptionThrown') return thrown(params);
  if (method === 'Log.entryAdded') return logged(params.entry);
  return undefined;
}

/** @param {any} params */
function said({ type, args, timestamp, stackTrace }) {
  const given = args.slice(0, MOST_ARGS);
  return {
    timestamp,
    level: LEVELS[type] ?? 'log',
    message: clipped(formatted(given)),
    args: given.map(valueOf),
    ...placeOf(stackTrace?.callFrames[0]),
    ...(type === 'error' || type === 'trace' || type === 'assert' ? traceOf(stackTrace) : {}),
  };
}

/** @param {any} params @returns {ConsoleEntry} */
function thrown({ timestamp, exceptionDetails: told }) {
  const what = told.exception ? textOf(told.exception) : '';
  const isWhole = told.exception?.subtype === 'error';
  return {
    timestamp,
    level: 'error',
    message: clipped(isWhole ? `Uncaught ${what}` : `${told.text}${what ? ` ${what}` : ''}`),
    args: [],
    ...placeOf(told.stackTrace?.callFrames[0] ?? told),
    ...traceOf(told.stackTrace),
  };
}

/** @param {any} entry @returns {ConsoleEntry} */
function logged({ timestamp, level, text, url, lineNumber, stackTrace }) {
  const place = stackTrace?.callFrames[0] ?? { url, lineNumber };
  return { timestamp, level: LEVELS[level] ?? 'log', message: clipped(text), args: [], ...placeOf(place) };
}

/** As the console shows it: what the first text asks for is put in its place. @param {any[]} args */
function formatted(args) {
  const [first, ...rest] = args;
  if (first?.type !== 'string' || !first.value.includes('%')) return args.map(textOf).join(' ');
  const put = (/** @type {string} */ mark) => {
    if (mark === '%%') return '%';
    if (!rest.length) return mark;
    const one = rest.shift();
    return mark === '%c' ? '' : textOf(one);
  };
  const text = first.value.slice(0, MOST_CHARS).replace(/%[sdifoOc%]/g, put);
  return [text, ...rest.map(textOf)].join(' ');
}

/** @param {any} object a RemoteObject */
function textOf(object) {
  if (object.type === 'string') return object.value;
  if (object.preview && object.subtype !== 'error') return JSON.stringify(previewed(object.preview));
  return object.description ?? String(object.unserializableValue ?? object.value);
}

/** @param {any} object @returns {unknown} */
function valueOf(object) {
  if (object.type === 'string') return clipped(object.value);
  if ('value' in object) return object.value;
  if (object.preview && object.subtype !== 'error') return previewed(object.preview);
  return clipped(object.description ?? object.unserializableValue ?? object.type);
}

/** What Chrome tells of an object without being asked: its first properties. @param {any} preview @returns {unknown} */
function previewed({ subtype, type, properties, description }) {
  if (subtype === 'error' || type === 'function') return clipped(description ?? '');
  const pairs = properties.map((/** @type {any} */ one) => [one.name.slice(0, MOST_NAME), worth(one)]);
  return subtype === 'array' ? pairs.map((/** @type {any} */ pair) => pair[1]) : Object.fromEntries(pairs);
}

/** @param {any} property */
function worth({ type, value, valuePreview }) {
  if (valuePreview) return previewed(valuePreview);
  if (type === 'number') return Number(value);
  if (type === 'boolean') return value === 'true';
  return value === undefined ? type : clipped(value);
}

/** @param {any} frame */
function placeOf(frame) {
  if (!frame?.url) return {};
  const column = frame.columnNumber === undefined ? {} : { column: frame.columnNumber + 1 };
  return { source: frame.url.slice(0, MOST_CHARS), line: (frame.lineNumber ?? 0) + 1, ...column };
}

/** @param {any} trace */
function traceOf(trace) {
  if (!trace?.callFrames.length) return {};
  return { stack_trace: trace.callFrames.slice(0, MOST_FRAMES).map(frameOf).join('\n') };
}

/** @param {any} frame */
function frameOf({ functionName, url, lineNumber, columnNumber }) {
  return `at ${functionName.slice(0, MOST_NAME) || '(anonymous)'} (${url.slice(0, 1000)}:${lineNumber + 1}:${columnNumber + 1})`;
}

/** @param {string} text */
function clipped(text) {
  return text.length > MOST_CHARS ? text.slice(0, MOST_CHARS) : text;
}
