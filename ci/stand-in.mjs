// A stand-in for a chat platform as a program of its own (`crates/pyxis-testkit/examples`), named by PX_TEST_STAND_IN.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

export class StandIn {
  static async start() {
    const standIn = new StandIn();
    standIn.process = spawn(process.env.PX_TEST_STAND_IN, { stdio: ["pipe", "pipe", "inherit"] });
    standIn.lines = createInterface({ input: standIn.process.stdout })[Symbol.asyncIterator]();
    return Object.assign(standIn, await standIn.#read());
  }

  async #read() {
    const { value, done } = await this.lines.next();
    if (done) throw new Error("the stand-in ended");
    return JSON.parse(value);
  }

  /** Acts as a person or as the platform. */
  async do(name, options = {}) {
    this.process.stdin.write(`${JSON.stringify({ do: name, ...options })}\n`);
    return this.#read();
  }

  stop() {
    this.process.stdin.end();
  }
}

/** Waits until `reached` returns something. */
export async function until(what, reached) {
  const end = Date.now() + 20_000;
  for (;;) {
    const found = await reached();
    if (found) return found;
    if (Date.now() > end) throw new Error(`not reached: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
