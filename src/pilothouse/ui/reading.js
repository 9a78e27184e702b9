// Lists that no word of the live line is about: they are read anew as long as somebody looks at them.

/**
 * Now, whenever the daemon tells how it is, and so soon after a line that broke.
 * @param {import('./shell.js').House} house
 * @param {() => Promise<void>} read
 * @returns {() => void} ends it
 */
export function kept(house, read) {
  let isReading = false;
  const again = async () => {
    if (isReading) return;
    isReading = true;
    await read();
    isReading = false;
  };
  void again();
  return house.store.on('health', () => void (document.hidden || again()));
}
