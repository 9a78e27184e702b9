// The words of the wire (protocol 1) and of what is kept, for the type checker only.

export type Share = 'tab' | 'group' | 'all';

export interface Kept {
  /** Made once, the identity of this extension in this profile. */
  install: string;
  /** What the person calls this browser; the daemon answers with `name`. */
  wish: string;
  name: string;
  secret: string;
  port: number;
  share: Share;
  /** Who stopped everything; empty while agents may work. */
  stopped: '' | 'popup' | 'bar' | 'daemon';
}

export interface Current {
  /** Tabs shared one by one: by the person, by an agent that opened them, by a shared tab that did. */
  hand: number[];
  /** Those an agent opened. */
  ours: number[];
  /** Who really opened a tab. Chrome's own `openerTabId` is the tab that was in front. */
  openers: Record<number, number>;
  /** The daemon refused us: when to ask again (epoch ms). */
  notBefore: number;
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
