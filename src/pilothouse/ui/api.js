// The daemon's REST routes for the person. Where it is, and the secret, are given: the dashboard and the side panel have each
// a pass of their own.

export class ApiError extends Error {
  /** @param {{code: string, message: string, suggestions?: string[], details?: any}} error @param {number} status */
  constructor(error, status) {
    super(error.message);
    this.code = error.code;
    this.status = status;
    this.suggestions = error.suggestions ?? [];
    this.details = error.details ?? {};
  }
}

export class Api {
  /** @param {string} base @param {() => string} secret */
  constructor(base, secret) {
    this.base = base;
    this.secret = secret;
  }

  /** @param {string} path */
  get(path) {
    return this.ask('GET', path);
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {unknown} [body]
   * @returns {Promise<any>} the data
   */
  async ask(method, path, body) {
    const answer = await this.fetch(method, path, body);
    const told = await answer
      .json()
      .catch(() => ({ error: { code: 'system', message: `no answer (${answer.status})` } }));
    if (!told.success) throw new ApiError(told.error, answer.status);
    return told.data;
  }

  /** @param {string} path @returns {Promise<Blob>} */
  async picture(path) {
    const answer = await this.fetch('GET', path);
    if (!answer.ok) throw new ApiError((await answer.json()).error, answer.status);
    return answer.blob();
  }

  /** @param {string} method @param {string} path @param {unknown} [body] */
  fetch(method, path, body) {
    /** @type {Record<string, string>} */
    const headers = { Authorization: `Bearer ${this.secret()}` };
    if (body !== undefined) headers['Content-Type'] = 'application/json';
    return fetch(this.base + path, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      cache: 'no-store',
      redirect: 'error',
      signal: AbortSignal.timeout(20_000),
    }).catch((reason) => {
      throw new ApiError(
        { code: 'system', message: 'Pilothouse does not answer', suggestions: [String(reason.message)] },
        0,
      );
    });
  }
}
