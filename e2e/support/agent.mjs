// An agent as the protocol knows it: it has a key and speaks HTTP.

import assert from "node:assert/strict";

import { within } from "./within.mjs";

/** Seconds that one poll waits for an outcome. */
const WAIT = 30;

export class Agent {
  #world;

  constructor(world) {
    this.#world = world;
  }

  get #key() {
    return { "X-PX-Key": this.#world.server.bootstrap.agent_key };
  }

  /** Asks for a call to the upstream, or to another target. */
  forward(method, path, { body, reason, credential = "billing-api", target, headers: own } = {}) {
    const headers = {
      ...this.#key,
      "X-PX-Credential": credential,
      "X-PX-Target": target ?? this.#world.upstream.url(path),
      "X-PX-Method": method,
    };
    if (reason) headers["X-PX-Reason"] = reason;
    if (body) headers["Content-Type"] = "application/json";
    Object.assign(headers, own);
    const answer = fetch(this.#world.server.url("/forward"), { method: "POST", headers, body });
    return within(`/forward of ${method} ${path}`, answer);
  }

  /** Asks for a POST that a person has to approve; its transaction's id. */
  async ask(path, options = {}) {
    const answer = await this.forward("POST", path, { body: `{"note":"hello"}`, ...options });
    const pause = await answer.json();
    assert.equal(answer.status, 202, JSON.stringify(pause));
    return pause.txn_id;
  }

  /** Asks for a signature; its transaction's id. */
  async askToSign(credential, body) {
    const headers = { ...this.#key, "X-PX-Credential": credential };
    const url = this.#world.server.url("/sign");
    const asked = fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
    const answer = await within("/sign", asked);
    const pause = await answer.json();
    assert.equal(answer.status, 202, JSON.stringify(pause));
    return pause.txn_id;
  }

  /** State of a transaction. */
  poll(txn) {
    return this.#poll(txn, "");
  }

  /** Final state of a transaction. */
  outcome(txn) {
    return this.#poll(txn, `?wait=${WAIT}`);
  }

  async #poll(txn, query) {
    const url = this.#world.server.url(`/agent/approvals/${txn}${query}`);
    const answer = await within(`a poll of ${txn}`, fetch(url, { headers: this.#key }));
    assert.equal(answer.status, 200);
    return answer.json();
  }

  async withdraw(txn) {
    const url = this.#world.server.url(`/agent/approvals/${txn}`);
    const withdrawn = fetch(url, { method: "DELETE", headers: this.#key });
    const answer = await within(`withdrawing ${txn}`, withdrawn);
    assert.equal(answer.status, 204);
  }
}
