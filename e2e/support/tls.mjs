// TLS in front of a plain server: webhooks go to https addresses only. The certificate, and the authority
// that nobody else trusts, are for 127.0.0.1 and for tests.

import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { createServer } from "node:tls";
import { fileURLToPath } from "node:url";

const file = (name) => fileURLToPath(new URL(`./tls/${name}`, import.meta.url));

/** Environment with which the program trusts the certificate. */
export const BELIEVING = { PX_EGRESS_CA_FILE: file("ca.pem") };

export class TlsFront {
  #server;
  #sockets = new Set();

  /** Passes on to a port of this machine; `{ port }` where it becomes known later. */
  static async before(target) {
    const front = new TlsFront();
    const certificate = { key: readFileSync(file("server.key")), cert: readFileSync(file("server.pem")) };
    front.#server = createServer(certificate, (outside) => {
      const inside = connect(target.port ?? target, "127.0.0.1");
      for (const [from, to] of [[outside, inside], [inside, outside]]) {
        front.#sockets.add(from);
        from.on("error", () => to.destroy());
        from.on("close", () => front.#sockets.delete(from));
        from.pipe(to);
      }
    });
    front.#server.listen(0, "127.0.0.1");
    await once(front.#server, "listening");
    return front;
  }

  url(path) {
    return `https://127.0.0.1:${this.#server.address().port}${path}`;
  }

  stop() {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }
}
