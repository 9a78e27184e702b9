// Why a command cannot be done, in words that the daemon knows.

/** @typedef {import('./types').ProblemCode} ProblemCode */

export class Problem extends Error {
  /**
   * @param {ProblemCode} code
   * @param {string} message
   * @param {{code?: number, message?: string}} [cdp] Chrome's own error
   */
  constructor(code, message, cdp) {
    super(message);
    this.code = code;
    this.cdp = cdp;
  }
}

/** @param {unknown} reason */
export function words(reason) {
  return reason instanceof Error ? reason.message : String(reason);
}

/** @param {number} deadline epoch ms */
export function refuseLate(deadline) {
  if (Date.now() > deadline) throw new Problem('too_late', 'the deadline had passed; nothing was done');
}
