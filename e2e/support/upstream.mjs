// An API on loopback that remembers what it was asked.

import { EventEmitter, once } from "node:events";
import { createServer } from "node:http";

export class Upstream {
  #server = createServer((request, response) => this.#serve(request, response));
  #arrivals = new EventEmitter();
  #held = false;
  #answers = new Map();
  /** Every request so far: `{method, url, headers, body}`. */
  requests = [];

  static async start() {
    const upstream = new Upstream();
    upstream.#server.listen(0, "127.0.0.1");
    await once(upstream.#server, "listening");
    return upstream;
  }

  /** Host and port. */
  get host() {
    return `127.0.0.1:${this.#server.address().port}`;
  }

  url(path) {
    return `http://${this.host}${path}`;
  }

  /** From now on requests are read and never answered. */
  hold() {
    this.#held = true;
  }

  /** Answers requests to this path, query included, with this JSON. */
  answer(path, json) {
    this.#answers.set(path, json);
  }

  /** The requests to this path, query included. */
  at(path) {
    return this.requests.filter((request) => request.url === path);
  }

  /** Waits for the first request to this path. */
  async arrival(path) {
    while (this.at(path).length === 0) await once(this.#arrivals, "request");
    return this.at(path)[0];
  }

  async #serve(request, response) {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const { method, url, headers } = request;
    this.requests.push({ method, url, headers, body: Buffer.concat(chunks).toString() });
    this.#arrivals.emit("request");
    if (this.#held) return;
    // A careless API: it tells the secret it was given.
    const answer = this.#answers.get(url) ?? { done: true, you_sent: headers.authorization };
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(answer));
  }

  async stop() {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}
