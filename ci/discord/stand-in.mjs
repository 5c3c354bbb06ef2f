// The stand-in for Discord as a program of its own (`crates/pyxis-testkit/examples/discord.rs`).

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

export class StandIn {
  static async start() {
    const standIn = new StandIn();
    standIn.process = spawn(process.env.PX_TEST_DISCORD, { stdio: ["pipe", "pipe", "inherit"] });
    standIn.lines = createInterface({ input: standIn.process.stdout })[Symbol.asyncIterator]();
    Object.assign(standIn, await standIn.#read());
    standIn.url = `${standIn.base}/api`;
    return standIn;
  }

  async #read() {
    const { value, done } = await this.lines.next();
    if (done) throw new Error("the stand-in ended");
    return JSON.parse(value);
  }

  /** Acts as a person or as Discord. */
  async do(name, options = {}) {
    this.process.stdin.write(`${JSON.stringify({ do: name, ...options })}\n`);
    return this.#read();
  }

  stop() {
    this.process.stdin.end();
  }
}
