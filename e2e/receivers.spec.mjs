// The example receivers: with the real sender, and with messages that only look real.

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, suite, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { BELIEVING, TlsFront } from "./support/tls.mjs";
import { World } from "./support/world.mjs";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const EXAMPLES = join(HERE, "..", "examples");
const world = World.forThisFile(BELIEVING);

let directory;
const receivers = {
  Python: ["python3", join(EXAMPLES, "python", "webhook.py")],
  TypeScript: ["node"],
  Rust: [process.env.PX_TEST_EXAMPLE_WEBHOOK],
};

before(async () => {
  directory = await mkdtemp(join(tmpdir(), "px-receivers-"));
  await cp(join(EXAMPLES, "typescript"), directory, { recursive: true });
  const compiler = join(HERE, "node_modules", "typescript", "bin", "tsc");
  const types = ["--typeRoots", join(HERE, "node_modules", "@types")];
  await promisify(execFile)("node", [compiler, "--project", directory, "--noEmitOnError", ...types]);
  receivers.TypeScript.push(join(directory, "webhook.js"));
});
after(() => directory && rm(directory, { recursive: true, force: true }));

/** Starts a receiver with this secret on a free port; its lines of output as they come. */
async function start(name, secret) {
  const [command, ...rest] = receivers[name];
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, PYXIS_WEBHOOK_SECRET: secret, PORT: "0" };
  const child = spawn(command, rest, { env, stdio: ["ignore", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async () => JSON.parse((await lines.next()).value);
  return { child, next, port: (await next()).port };
}

async function stop(receiver) {
  const ended = once(receiver.child, "exit");
  receiver.child.kill();
  await ended;
}

for (const name of Object.keys(receivers)) {
  suite(`the receiver in ${name}`, () => {
    test("tells the events that the real sender signs, each once", async () => {
      // The address must be known before the secret is, so the front stands before the receiver.
      let port;
      const front = await TlsFront.before({ get port() { return port; } });
      const made = await world.admin("POST", "/admin/webhooks", { url: front.url("/in"), events: ["approval.requested"] });
      assert.equal(made.status, 201, await made.clone().text());
      const { id, secret } = await made.json();
      let receiver;
      try {
        receiver = await start(name, secret);
        port = receiver.port;
        const txn = await world.agent.ask(`/${name}`);
        const told = await receiver.next();
        assert.deepEqual([told.event, told.txn_id], ["approval.requested", txn]);
        const again = await world.admin("POST", `/admin/deliveries/${told.delivery}/resend`, {});
        assert.equal(again.status, 202);
        const rotated = await world.admin("POST", `/admin/webhooks/${id}/rotate-secret`, {});
        assert.equal(rotated.status, 200);
        // Both secrets sign now. The repeated delivery is told no second time, so this is the next line.
        const second = await world.agent.ask(`/${name}/second`);
        assert.equal((await receiver.next()).txn_id, second);
      } finally {
        if (receiver) await stop(receiver);
        front.stop();
        await world.admin("DELETE", `/admin/webhooks/${id}`);
      }
    });

    test("refuses what is not signed, signed by somebody else, changed or old", async () => {
      const receiver = await start(name, "whsec_own");
      const body = `{"event":"approval.expired","txn_id":"x"}`;
      const now = Math.floor(Date.now() / 1000);
      const sign = (secret, time) =>
        `t=${time},v1=${createHmac("sha256", secret).update(`${time}.${body}`).digest("hex")}`;
      const send = async (signature, text = body) => {
        const headers = { "PX-Delivery": "d", ...(signature === undefined ? {} : { "PX-Signature": signature }) };
        const answer = await fetch(`http://127.0.0.1:${receiver.port}/`, { method: "POST", headers, body: text });
        return answer.status;
      };
      try {
        for (const bad of [undefined, "", "t=,v1=", `t=${now}`, "v1=00", sign("whsec_other", now), sign("whsec_own", now - 301), sign("whsec_own", now + 400)]) {
          assert.equal(await send(bad), 401, String(bad));
        }
        assert.equal(await send(sign("whsec_own", now), `${body} `), 401);
        assert.equal(await send(`${sign("whsec_other", now)},${sign("whsec_own", now).split(",")[1]}`), 204);
        assert.equal((await receiver.next()).event, "approval.expired");
      } finally {
        await stop(receiver);
      }
    });
  });
}
