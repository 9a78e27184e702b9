// A page nobody sees, for one purpose: it notices at once when the service worker ends, and wakes it. Alarms would take
// half a minute.

const PAGE = 'watch.html';

/** Make the page, if it is not there from an earlier life of ours. */
export async function keepWatch() {
  const there = await chrome.runtime.getContexts({ contextTypes: ['OFFSCREEN_DOCUMENT'] });
  if (there.length) return;
  const justification = 'Wakes the service worker when Chrome has ended it, so that the connection is back at once.';
  await chrome.offscreen.createDocument({ url: PAGE, reasons: ['WORKERS'], justification }).catch(() => {});
}
