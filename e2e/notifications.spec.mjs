// Browser notifications and the brand.

import assert from "node:assert/strict";
import { createECDH, randomBytes } from "node:crypto";
import test, { after, before } from "node:test";
import { deflateSync } from "node:zlib";

import { Receiver } from "./support/receiver.mjs";
import { BELIEVING } from "./support/tls.mjs";
import { World } from "./support/world.mjs";

const world = World.forThisFile(BELIEVING);
let service;

before(async () => {
  service = await Receiver.start();
  service.status = 201;
});
after(() => service?.stop());

/** Answer of a browser's push service, which this machine cannot reach. */
function subscription() {
  const keys = createECDH("prime256v1");
  keys.generateKeys();
  return {
    endpoint: service.url("/send/abc"),
    keys: { p256dh: keys.getPublicKey("base64url"), auth: randomBytes(16).toString("base64url") },
  };
}

/**
 * In the page: the notification of a tag as soon as it is shown, or nothing after half a minute. `waitForFunction`
 * would take the promise of the first look for the answer.
 */
async function notificationOf(tag) {
  const registration = await navigator.serviceWorker.ready;
  for (const end = performance.now() + 30_000; performance.now() < end; ) {
    const [notification] = await registration.getNotifications({ tag });
    if (notification) return { title: notification.title, path: notification.data.path };
    await new Promise(requestAnimationFrame);
  }
}

test("a browser is allowed to notify, is told of a request, and opens it", async () => {
  await world.asOwner(async (page) => {
    const context = page.context();
    await context.grantPermissions(["notifications"], { origin: world.server.base });
    await page.addInitScript((fake) => {
      PushManager.prototype.subscribe = async () => ({ toJSON: () => fake });
    }, subscription());
    await page.goto("/app/notifications");
    await page.getByRole("button", { name: "Notify this browser" }).click();
    await page.getByText("This browser now receives notifications.").waitFor();

    const policy = await world.admin("PUT", "/admin/policies/billing-api", { channel: "dashboard" });
    assert.equal(policy.status, 200);
    const txn = await world.agent.ask("/items");
    const [sent] = await service.until(1);
    assert.equal(sent.headers["content-encoding"], "aes128gcm");
    assert.match(sent.headers.authorization, /^vapid t=/);

    // The worker shows what a message says, and a click opens the page that it is about.
    const cdp = await context.newCDPSession(page);
    const registered = new Promise((done) => {
      cdp.on("ServiceWorker.workerRegistrationUpdated", ({ registrations }) => {
        if (registrations[0]) done(registrations[0].registrationId);
      });
    });
    await cdp.send("ServiceWorker.enable");
    const data = JSON.stringify({ title: "Acme: approval needed", body: "default-agent", path: `/approve/${txn}`, tag: txn });
    const registrationId = await registered;
    await cdp.send("ServiceWorker.deliverPushMessage", { origin: world.server.base, registrationId, data });
    const shown = await page.evaluate(notificationOf, txn);
    assert.deepEqual(shown, { title: "Acme: approval needed", path: `/approve/${txn}` });

    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByText("Notifications stopped for that browser.").waitFor();
  });
});

/** A small PNG. */
function png(side) {
  const table = Array.from({ length: 256 }, (_, n) => {
    for (let bit = 0; bit < 8; bit++) n = n & 1 ? (n >>> 1) ^ 0xedb88320 : n >>> 1;
    return n >>> 0;
  });
  const crc = (bytes) => ~bytes.reduce((crc, byte) => table[(crc ^ byte) & 255] ^ (crc >>> 8), -1) >>> 0;
  const chunk = (kind, bytes) => {
    const body = Buffer.concat([Buffer.from(kind), bytes]);
    const frame = Buffer.alloc(8);
    frame.writeUInt32BE(bytes.length, 0);
    frame.writeUInt32BE(crc(body), 4);
    return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)]);
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(side, 0);
  head.writeUInt32BE(side, 4);
  head.set([8, 2, 0, 0, 0], 8);
  const rows = Buffer.alloc(side * (1 + side * 3), 90);
  for (let row = 0; row < side; row++) rows[row * (1 + side * 3)] = 0;
  const signature = Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]);
  return Buffer.concat([signature, chunk("IHDR", head), chunk("IDAT", deflateSync(rows)), chunk("IEND", Buffer.alloc(0))]);
}

test("a brand is previewed before it is saved, and its logo is checked", async () => {
  await world.asOwner(async (page) => {
    await page.goto("/app/settings");
    await page.getByRole("link", { name: "Brand" }).click();
    await page.getByLabel("Display name").fill("Acme <b>");
    await page.getByLabel("Accent color").fill("red");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Must be six hex digits such as #4338ca").waitFor();
    await page.getByLabel("Accent color").fill("#ffe066");
    await page.getByRole("button", { name: "Preview" }).click();
    await page.getByRole("heading", { name: "Preview of unsaved changes" }).waitFor();
    // Matrix and e-mail show the color.
    const strip = page.locator(".brand-strip").first();
    assert.equal(await strip.textContent(), "Acme <b> · Approval needed");
    // The colors come in a stylesheet of their own.
    await page.waitForFunction(() => {
      const { backgroundColor, color } = getComputedStyle(document.querySelector(".brand-strip"));
      return backgroundColor === "rgb(255, 224, 102)" && color === "rgb(0, 0, 0)";
    });
    assert.equal((await (await world.admin("GET", "/admin/brand")).json()).display_name, null);
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Changes saved.").waitFor();

    const upload = async (name, buffer) => {
      await page.getByLabel("Picture").setInputFiles({ name, mimeType: "image/png", buffer });
      await page.getByRole("button", { name: "Set logo" }).click();
    };
    await upload("logo.png", Buffer.from("<svg xmlns='http://www.w3.org/2000/svg'/>"));
    await page.getByText("A PNG, JPEG or WebP picture").waitFor();
    await upload("logo.png", png(40));
    await page.getByText("Logo saved.").waitFor();
    const brand = await (await world.admin("GET", "/admin/brand")).json();
    assert.deepEqual([brand.display_name, brand.accent, brand.secured_by], ["Acme <b>", "#ffe066", "Secured by Pyxis"]);
    assert.equal((await fetch(brand.logo_url)).headers.get("content-type"), "image/png");
    assert.equal((await world.admin("PUT", "/admin/brand", { display_name: "x" })).status, 405);
    await page.getByRole("button", { name: "Remove logo" }).click();
    await page.getByText("Logo removed.").waitFor();
  }, { refusals: [422] });
});
