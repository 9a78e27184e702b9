// Which languages and timezones this browser knows.
// Above: the daemon (browser/emulation.py). Below: nothing.

ph.knows = (locale, timezone) => {
  const holds = (work) => { try { return work(); } catch { return false; } };
  return {
    locale: !locale || holds(() => Intl.DateTimeFormat.supportedLocalesOf(locale).length > 0),
    timezone: !timezone || holds(() => !!new Intl.DateTimeFormat("en", { timeZone: timezone })),
  };
};
