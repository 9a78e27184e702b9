// The network rules of agents' tabs, held by Chrome itself: they stand also while the daemon is away.

/** @type {Promise<unknown>} one after the other: two at once would collide */
let turn = Promise.resolve();

/** Take the place of all our rules, at once. @param {{tabIds: number[], rules: any[]}} payload */
export function replaceRules(payload) {
  const done = turn.then(() => replace(payload));
  turn = done.catch(() => {});
  return done;
}

/** @param {{tabIds: number[], rules: any[]}} payload */
async function replace({ tabIds, rules }) {
  const old = await chrome.declarativeNetRequest.getSessionRules();
  const removeRuleIds = old.map((rule) => rule.id);
  const addRules = tabIds.length
    ? rules.map((rule, index) => ({ ...rule, id: index + 1, condition: { tabIds, ...rule.condition } }))
    : [];
  await chrome.declarativeNetRequest.updateSessionRules({ removeRuleIds, addRules });
  return { rules: addRules.length };
}

export async function clearRules() {
  await replaceRules({ tabIds: [], rules: [] });
}
