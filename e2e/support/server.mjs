// The built program as a process, with a data directory of its own.

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, open, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";

const PROGRAM = process.env.PX_TEST_PYXIS;
/** Not every Node that these tests run on has SQLite; Python always has. */
const SQL = "import sqlite3, sys; sqlite3.connect(sys.argv[1], timeout=30).executescript(sys.argv[2])";

export class Server {
  #directory;
  #env;
  #child;
  /** Output of `bootstrap --json`. */
  bootstrap;
  /** The public origin. A new port, thus a new origin, with every start. */
  base;

  /** Bootstraps in a new directory and serves; `env` says more than the defaults. */
  static async start(env = {}) {
    if (!PROGRAM) throw new Error("PX_TEST_PYXIS must name the built program; run ci/e2e.sh");
    const server = new Server();
    server.#directory = await mkdtemp(join(tmpdir(), "px-e2e-"));
    // Upstreams of tests live on loopback. Nothing else of the caller's environment gets in.
    const own = { PX_DATA_DIR: join(server.#directory, "data"), PX_METRICS_LISTEN: "off" };
    server.#env = { ...own, PX_EGRESS_ALLOW: "127.0.0.0/8", ...env };
    try {
      server.bootstrap = await server.#bootstrap();
      await server.serve();
    } catch (error) {
      await server.remove();
      throw error;
    }
    return server;
  }

  async #bootstrap() {
    return JSON.parse(await this.command("bootstrap", "--json"));
  }

  /** Output of a command of the program. The server may run at the same time. */
  async command(...args) {
    const options = { cwd: this.#directory, env: this.#env };
    const { stdout } = await promisify(execFile)(PROGRAM, args, options);
    return stdout;
  }

  /** The same at a terminal: all that is to be seen there, also what is overwritten. */
  async atTerminal(...args) {
    const script = "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)";
    const options = { cwd: this.#directory, env: { ...this.#env, PATH: process.env.PATH, TERM: "xterm" } };
    const { stdout } = await promisify(execFile)("python3", ["-c", script, PROGRAM, ...args], options);
    return stdout;
  }

  /** Runs statements behind the program's back. */
  async sql(statements) {
    const database = join(this.#directory, "data", "pyxis.db");
    await promisify(execFile)("python3", ["-c", SQL, database, statements]);
  }

  async serve() {
    const log = await open(this.#log, "a");
    this.#child = spawn(PROGRAM, ["serve", "--json", "--listen", "127.0.0.1:0"], {
      cwd: this.#directory,
      env: this.#env,
      stdio: ["ignore", "pipe", log.fd],
    });
    await log.close();
    const lines = createInterface({ input: this.#child.stdout });
    const ended = once(this.#child, "exit").then(() => []);
    const [greeting] = await Promise.race([once(lines, "line"), ended]);
    if (!greeting) throw new Error(`the server ended at once: ${await readFile(this.#log, "utf8")}`);
    this.base = JSON.parse(greeting).base_url;
  }

  get #log() {
    return join(this.#directory, "stderr.log");
  }

  url(path) {
    return new URL(path, this.base).href;
  }

  /** The owner's one-time link; bootstrap could not know the port. */
  get ownerLink() {
    return this.url(new URL(this.bootstrap.owner_link).pathname);
  }

  /** Ends the process and waits for it. */
  async stop(signal = "SIGTERM") {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill(signal);
    await ended;
  }

  async restart() {
    await this.stop();
    await this.serve();
  }

  /** Ends the process, if it runs, and takes its directory away. */
  async remove() {
    await this.stop("SIGKILL");
    await rm(this.#directory, { recursive: true, force: true });
  }
}
