// A program that receives webhooks, behind TLS, and answers as it is told.

import { once } from "node:events";
import { createServer } from "node:http";

import { TlsFront } from "./tls.mjs";

export class Receiver {
  #server;
  #front;
  #waiting = [];
  /** Received requests: headers and body. */
  received = [];
  /** The status of the next answers. */
  status = 204;

  static async start() {
    const receiver = new Receiver();
    receiver.#server = createServer(async (request, response) => {
      const chunks = [];
      for await (const chunk of request) chunks.push(chunk);
      receiver.received.push({ headers: request.headers, body: Buffer.concat(chunks).toString() });
      response.writeHead(receiver.status).end(receiver.status < 300 ? "" : "not today");
      receiver.#waiting.splice(0).forEach((wake) => wake());
    });
    receiver.#server.listen(0, "127.0.0.1");
    await once(receiver.#server, "listening");
    receiver.#front = await TlsFront.before(receiver.#server.address().port);
    return receiver;
  }

  /** Waits until so many have come. */
  async until(count) {
    while (this.received.length < count) await new Promise((wake) => this.#waiting.push(wake));
    return this.received;
  }

  url(path) {
    return this.#front.url(path);
  }

  stop() {
    this.#front?.stop();
    this.#server?.closeAllConnections();
    this.#server?.close();
  }
}
