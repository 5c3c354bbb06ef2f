// A server that takes every connection and never answers.

import { once } from "node:events";
import { createServer } from "node:net";

export class SilentServer {
  #listener = createServer((socket) => {
    this.#sockets.add(socket.on("error", () => {}));
  });
  #sockets = new Set();

  static async start() {
    const server = new SilentServer();
    server.#listener.listen(0, "127.0.0.1");
    await once(server.#listener, "listening");
    return server;
  }

  get url() {
    return `http://127.0.0.1:${this.#listener.address().port}`;
  }

  async stop() {
    for (const socket of this.#sockets) socket.destroy();
    this.#listener.close();
    await once(this.#listener, "close");
  }
}
