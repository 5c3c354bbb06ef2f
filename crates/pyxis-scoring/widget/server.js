/** Time limit of a request, as the server's. */
const TIMEOUT = 60_000;

/** Texts for refusals, by the code that the server names. */
const REFUSALS = {
  session_needed: "expired",
  nonce_expired: "expired",
  wrong_signature: "signature",
  no_node: "noNode",
  node_unavailable: "server",
  invalid_message: "setup",
  server_key: "setup",
  publishable_key: "setup",
  origin_missing: "setup",
  origin_not_allowed: "setup",
  other_scorer: "setup",
};

/** Hosts on which a page is under development, so that its visitor is its developer. */
const DEVELOPMENT_HOSTS = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** The widget's part of a server's interface. */
class ScoreServer {
  #base;
  #key;
  #token;

  constructor(server, scorer, key) {
    const url = URL.parse ? URL.parse(server) : tryUrl(server);
    if (!url || !/^https?:$/.test(url.protocol)) {
      throw new WidgetFailure("setup", { detail: `server="${server}" is not the address of a Pyxis server` });
    }
    if (!/^[0-9]+$/.test(scorer)) {
      throw new WidgetFailure("setup", { detail: `scorer="${scorer}" is not the number of a scorer` });
    }
    if (!key.startsWith("px_pub_")) {
      throw new WidgetFailure("setup", { detail: "publishable-key is not a publishable key (px_pub_…)" });
    }
    this.#base = `${url.origin}${url.pathname.replace(/\/+$/, "")}/widget/v1/${scorer}`;
    this.#key = key;
  }

  get isSignedIn() {
    return this.#token !== undefined;
  }

  /** Threshold and Stamps of the scorer. */
  view() {
    return this.#send("GET", "");
  }

  /** Signs in with a message that `sign` signs. */
  async signIn(address, chainId, sign) {
    const { message } = await this.#send("POST", "/nonce", { address, chain_id: chainId });
    const signature = await sign(message);
    const session = await this.#send("POST", "/session", { message, signature });
    this.#token = session.token;
  }

  /** The score record, signed for the page's server where it can be. */
  async score(challenge) {
    try {
      return await this.#send("POST", "/score", challenge ? { challenge } : {});
    } catch (error) {
      if (error.code !== "unsigned") throw error;
      return this.#send("GET", "/score");
    }
  }

  /** Asks for a Stamp that the server issues itself. Returns why it is not issued, or nothing. */
  async issue(provider, items) {
    const { items: [outcome] } = await this.#send("POST", "/issue", { stamps: [{ provider, items }] });
    return outcome.error;
  }

  /** Ends the session. A server that does not answer ends it in time. */
  async signOut() {
    if (!this.isSignedIn) return;
    const ended = this.#send("DELETE", "/session").catch(() => undefined);
    this.#token = undefined;
    await ended;
  }

  async #send(method, path, body) {
    const headers = { "X-API-KEY": this.#key };
    if (body) headers["Content-Type"] = "application/json";
    if (this.#token) headers.Authorization = `Bearer ${this.#token}`;
    const options = { method, headers, mode: "cors", credentials: "omit", cache: "no-store" };
    if (body) options.body = JSON.stringify(body);
    if (AbortSignal.timeout) options.signal = AbortSignal.timeout(TIMEOUT);
    let response;
    try {
      response = await fetch(this.#base + path, options);
    } catch (cause) {
      // A browser does not tell a page why: the network, the page's policy, or an origin that the key does not allow.
      const hint =
        `No answer from ${this.#base}. If the server runs, add the origin ${location.origin} to the publishable key, ` +
        "and the server to connect-src of this page's Content-Security-Policy.";
      console.warn(`<pyxis-passport>: ${hint}`);
      const isDevelopment = DEVELOPMENT_HOSTS.has(location.hostname);
      throw new WidgetFailure("offline", {}, { cause, hint: isDevelopment ? hint : undefined });
    }
    if (response.status === 204) return undefined;
    const answer = await response.json().catch(() => undefined);
    if (response.ok && answer) return answer;
    throw this.#refusal(response, answer);
  }

  #refusal(response, answer) {
    const detail = typeof answer?.detail === "string" ? answer.detail : `status ${response.status}`;
    if (response.status === 401) this.#token = undefined;
    if (answer?.code in REFUSALS) return new WidgetFailure(REFUSALS[answer.code], { detail });
    if (response.status === 401) {
      return new WidgetFailure("setup", { detail: "the publishable key is unknown or revoked" });
    }
    if (response.status === 429) {
      return new WidgetFailure("limited", { seconds: response.headers.get("Retry-After") ?? "60" });
    }
    if (response.status === 409) return new WidgetFailure("unsigned");
    return new WidgetFailure(response.status >= 500 ? "server" : "setup", { detail });
  }
}

function tryUrl(text) {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}

