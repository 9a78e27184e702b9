// The network rules of agents' tabs, held by Chrome itself: they stand also while the daemon is away.

/** Take the place of all our rules, at once. @param {{tabIds: number[], rules: any[]}} payload */
export async function replaceRules({ tabIds, rules }) {
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
