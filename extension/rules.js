// The network rules of agents' tabs, held by Chrome itself: they stand also while the daemon is away, until the tab is let
// go of or closed.

import { Problem } from './problem.js';
import { isShared } from './sharing.js';

/** @typedef {chrome.declarativeNetRequest.Rule} Rule */

const ACTIONS = ['block', 'allow'];

/** @type {Promise<unknown>} one after the other: two at once would collide */
let turn = Promise.resolve();

/** @template T @param {() => Promise<T>} work @returns {Promise<T>} */
function inTurn(work) {
  const done = turn.then(work);
  turn = done.catch(() => {});
  return done;
}

/** Take the place of all our rules, at once. @param {{tabIds: number[], rules: any[]}} payload */
export function replaceRules({ tabIds, rules }) {
  return inTurn(() => replace(rules.flatMap((rule) => held(rule, tabIds))));
}

/** @param {any} rule as the daemon says it @param {number[]} tabIds where it has no word of its own @returns {Omit<Rule, 'id'>[]} */
function held({ priority, action, condition }, tabIds) {
  if (!ACTIONS.includes(action?.type)) throw new Problem('refused', 'a rule blocks or allows, and does nothing else');
  const tabs = (condition?.tabIds ?? tabIds).filter((/** @type {number} */ tabId) => tabIds.includes(tabId) && isShared(tabId));
  const kept = { ...(priority ? { priority } : {}), action: { type: action.type } };
  return tabs.length ? [{ ...kept, condition: { ...condition, tabIds: tabs } }] : [];
}

/** @param {Omit<Rule, 'id'>[]} rules */
async function replace(rules) {
  const old = await chrome.declarativeNetRequest.getSessionRules();
  const addRules = rules.map((rule, index) => ({ ...rule, id: index + 1 }));
  await chrome.declarativeNetRequest.updateSessionRules({ removeRuleIds: old.map((rule) => rule.id), addRules });
  return { rules: addRules.length };
}

/** No other tab is under them any more. @param {number[]} tabIds */
export function keepRulesOf(tabIds) {
  return narrow((tabId) => tabIds.includes(tabId));
}

/** @param {number} tabId */
export function releaseRules(tabId) {
  return narrow((one) => one !== tabId);
}

export async function clearRules() {
  await narrow(() => false);
}

/** @param {(tabId: number) => boolean} isKept */
function narrow(isKept) {
  return inTurn(async () => {
    const old = await chrome.declarativeNetRequest.getSessionRules();
    const left = old.flatMap(({ id: _, ...rule }) => {
      const tabIds = (rule.condition.tabIds ?? []).filter(isKept);
      return tabIds.length ? [{ ...rule, condition: { ...rule.condition, tabIds } }] : [];
    });
    if (old.length) await replace(left);
  });
}
