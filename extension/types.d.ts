// The words of the wire (protocol 1) and of what is kept, for the type checker only.

export type Share = 'tab' | 'group' | 'all';

export interface Kept {
  /** Made once, the identity of this extension in this profile. */
  install: string;
  /** What the person calls this browser; the daemon answers with `name`. */
  wish: string;
  name: string;
  /** With whom: one thing, so that a secret never meets a port that it is not for. */
  pairing: { secret: string; port: number } | null;
  share: Share;
  /** Who stopped everything; empty while agents may work. */
  stopped: '' | 'popup' | 'bar' | 'daemon';
}

/** What we say to know: a secret, or a code that the person typed. */
export interface Claim {
  by: 'secret' | 'code';
  key: string;
  port: number;
}

/** Where a socket of ours goes; a proof is good at one of them. */
export type Door = 'bridge' | 'signaling';

/** A daemon that has shown that it knows it too. */
export interface Met {
  /** For the WebSocket; our own proof is among them. */
  protocols: string[];
  /** What its first frame has to prove. */
  first: string;
  /** It has this browser already. */
  connected: boolean;
}

/** Why there is no connection; empty when there is one. */
export type Why =
  | ''
  | 'away'
  | 'unknown'
  | 'stranger'
  | 'second'
  | 'refused'
  | 'unkept'
  | 'old extension'
  | 'old daemon';

export interface Welcome {
  name: string;
  version: string;
  /** Once, for a browser that came with a code. */
  secret?: string;
}

export interface Current {
  /** Tabs shared one by one: by the person, by an agent that opened them, by a shared tab that did. */
  hand: number[];
  /** Those an agent opened. */
  ours: number[];
  /** Who really opened a tab. Chrome's own `openerTabId` is the tab that was in front. */
  openers: Record<number, number>;
  /** The newest downloads of shared tabs. */
  downloads: { id: number; tabId: number }[];
  /** The daemon refused us: when to ask again (epoch ms). */
  notBefore: number;
  /** Pages of the debug proxy that are offered, by tab. */
  debugged: Record<number, Offer>;
  /** The origin of the hub's debug proxy; its cocoons are below that host. */
  debugProxy: string;
}

/** A page of the debug proxy. `committed`: where it began, before it moved by script; `alone`: no agent has the tab. */
export interface Offer {
  token: string;
  ticket: string;
  url: string;
  committed: string;
  title: string;
  documentId: string;
  alone: boolean;
}

export interface Debuggee {
  tabId: number;
  sessionId?: string;
}

export interface NetworkRequest {
  request_id: string;
  timestamp: number;
  method: string;
  url: string;
  request_headers?: Record<string, string>;
  request_body?: string;
  status?: number;
  status_text?: string;
  response_headers?: Record<string, string>;
  response_body?: string;
  response_body_truncated?: boolean;
  mime_type?: string;
  duration_ms?: number;
  error?: string;
}

export interface ConsoleEntry {
  timestamp: number;
  level: 'log' | 'debug' | 'info' | 'warn' | 'error';
  message: string;
  args: unknown[];
  source?: string;
  line?: number;
  column?: number;
  stack_trace?: string;
}

export interface TabInfo {
  tabId: number;
  targetId?: string;
  openerTabId?: number;
  windowId: number;
  groupId: number;
  url: string;
  title: string;
  active: boolean;
  status: string;
  incognito: boolean;
  pinned: boolean;
  ours: boolean;
}

export interface Command {
  id: number;
  type: string;
  deadline: number;
  payload: any;
}

export type ProblemCode =
  | 'tab_closed'
  | 'not_attached'
  | 'not_shared'
  | 'refused'
  | 'unsupported'
  | 'too_late'
  | 'ended'
  | 'stopped'
  | 'protocol';

/** What the popup shows. */
export interface State {
  mode: 'off' | 'pairing' | 'on' | 'active' | 'stopped' | 'problem';
  words: string;
  next: string;
  name: string;
  wish: string;
  paired: boolean;
  /** The daemon does not know this browser any more. */
  pairAgain: boolean;
  port: number;
  share: Share;
  sharedTabs: number;
  attachedTabs: number;
  /** Questions that wait for the person. */
  waiting: number;
  version: string;
  daemonVersion: string;
}

export interface CurrentTab {
  tabId: number;
  title: string;
  shared: boolean;
  allowed: boolean;
}
