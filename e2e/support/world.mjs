// The usual scene: one server, one upstream, one credential for it, one agent, one owner.

import assert from "node:assert/strict";
import { after, before } from "node:test";

import { Agent } from "./agent.mjs";
import { Server } from "./server.mjs";
import { Upstream } from "./upstream.mjs";
import { launch, visit } from "./visit.mjs";
import { within } from "./within.mjs";

/** The stored secret. */
export const SECRET = "sk-canary-7Qx-Zr9-T2-K5";
export const OWNER = "owner@localhost";
export const PASSWORD = "correct horse battery";

export class World {
  #browser;
  #session;
  server;
  upstream;
  agent = new Agent(this);

  /**
   * The scene of one file: it stands before the file's first test and is gone after the last. `prepare` is
   * done once it stands.
   */
  static forThisFile(env, prepare) {
    const world = new World();
    before(async () => {
      await world.#open(env);
      await prepare?.();
    });
    after(() => world.#close());
    return world;
  }

  async #open(env) {
    // One after the other, so that what has started is known when the next one fails.
    this.upstream = await Upstream.start();
    this.#browser = await launch();
    this.server = await Server.start(env);
    await this.credential("billing-api");
  }

  async #close() {
    await Promise.all([this.server?.remove(), this.upstream?.stop(), this.#browser?.close()]);
  }

  /** Stores a bearer credential for the upstream. */
  async credential(name) {
    const answer = await this.admin("POST", "/admin/credentials", {
      name,
      auth: { kind: "bearer" },
      secret: SECRET,
      allowed_hosts: [this.upstream.host],
      allow_http: true,
    });
    assert.equal(answer.status, 201, await answer.text());
  }

  /** A call of the admin API by the owner. */
  admin(method, path, body) {
    const headers = {
      "Authorization": `Bearer ${this.server.bootstrap.owner_session_token}`,
      "Content-Type": "application/json",
    };
    const answer = fetch(this.server.url(path), { method, headers, body: JSON.stringify(body) });
    return within(`${method} ${path}`, answer);
  }

  /** A visit of somebody who is not signed in. */
  asStranger(body, options = {}) {
    return visit(this.#browser, { baseURL: this.server.base, ...options }, body);
  }

  /** A visit of the owner. */
  async asOwner(body, options = {}) {
    this.#session ??= await this.#signedIn();
    return this.asStranger(body, { storageState: this.#session, ...options });
  }

  /** The owner's session by the password: that of a link brings no second passkey. */
  async #signedIn() {
    await this.asStranger((page) => setPassword(page, this.server.ownerLink));
    return this.asStranger(async (page) => {
      await signIn(page, OWNER, PASSWORD);
      return page.context().storageState();
    });
  }
}

/** Goes through a first sign-in link to the home page. */
export async function setPassword(page, link) {
  await page.goto(link);
  await page.getByLabel("New password").fill(PASSWORD);
  await page.getByLabel("Repeat password").fill(PASSWORD);
  await page.getByRole("button", { name: "Set password and sign in" }).click();
  await page.waitForURL("**/app");
}

/** Signs in with a password, on to the home page. */
export async function signIn(page, email, password) {
  await page.goto("/sign-in");
  await page.getByLabel("E-mail address").fill(email);
  await page.getByLabel("Password", { exact: true }).fill(password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.waitForURL("**/app");
}

/** The card of one request. */
export function card(page, txn) {
  return page.locator(`#r-${txn}`);
}

/** The card of one request in the inbox, after its row is opened. */
export async function opened(page, txn) {
  const found = card(page, txn);
  await found.locator("[data-row] > summary").click();
  return found;
}
