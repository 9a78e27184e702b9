// Storage: what a page keeps for itself, local or for the session.
// Above: the daemon (browser/storage.py). Below: dom.js (uncurry). The page shares the store, not these functions.

const storedItem = uncurry(Storage.prototype.getItem);
const storeItem = uncurry(Storage.prototype.setItem);
const unstoreItem = uncurry(Storage.prototype.removeItem);
const unstoreAll = uncurry(Storage.prototype.clear);
const storedKey = uncurry(Storage.prototype.key);
const storedCount = getter(Storage.prototype, "length");

// Pages without an origin of their own (data:, sandboxed frames) have none; reading the property throws there.
function inStore(area, work) {
  try {
    return { origin: location.origin, ...work(area === "session" ? sessionStorage : localStorage) };
  } catch (error) {
    return { error: error.name === "QuotaExceededError" ? "full" : "none" };
  }
}
function storedItems(store) {
  const keys = [];
  for (let i = 0; i < storedCount(store); i++) keys.push(storedKey(store, i));
  return keys.map((key) => [key, storedItem(store, key)]);
}
ph.stored = (area, key) => inStore(area, (store) => {
  if (key === null) return { items: storedItems(store) };
  const value = storedItem(store, key);
  return { items: value === null ? [] : [[key, value]] };
});
ph.store = (area, items) => inStore(area, (store) => {
  for (const [key, value] of items) storeItem(store, key, value);
  return { items: [] };
});
ph.unstore = (area, key) => inStore(area, (store) => {
  const gone = key === null ? storedCount(store) : storedItem(store, key) === null ? 0 : 1;
  if (key === null) unstoreAll(store);
  else unstoreItem(store, key);
  return { gone };
});
