// Webhook endpoints: adding one, looking at what was sent, sending it again.

import assert from "node:assert/strict";
import test, { after, before } from "node:test";

import { Receiver } from "./support/receiver.mjs";
import { reloadUntil } from "./support/reload.mjs";
import { BELIEVING } from "./support/tls.mjs";
import { World } from "./support/world.mjs";

const world = World.forThisFile(BELIEVING);
let receiver;

before(async () => {
  receiver = await Receiver.start();
});
after(() => receiver?.stop());

test("an endpoint is added, its secret is shown once, and a delivery that failed is sent again", async () => {
  await world.asOwner(async (page) => {
    await page.goto("/app/webhooks");
    await page.getByRole("heading", { name: "No endpoints yet" }).waitFor();
    await page.getByRole("link", { name: "Add endpoint" }).first().click();
    await page.getByLabel("URL").fill("https://10.0.0.1/in");
    await page.getByRole("button", { name: "Add endpoint" }).click();
    await page.getByText("Address is not public").waitFor();
    await page.getByLabel("URL").fill(receiver.url("/in"));
    await page.getByLabel("Description").fill("The pager");
    await page.getByLabel("approval.requested").check();
    await page.getByRole("button", { name: "Add endpoint" }).click();
    const secret = await page.getByLabel("Signing secret", { exact: true }).textContent();
    assert.match(secret, /^whsec_/);
    await page.getByRole("link", { name: "I have stored the secret" }).click();
    await page.getByText("No deliveries yet.").waitFor();
    assert.ok(!(await page.content()).includes(secret));

    receiver.status = 503;
    const txn = await world.agent.ask("/items");
    await receiver.until(1);
    await page.reload();
    await page.getByRole("link", { name: "approval.requested" }).click();
    await page.waitForURL("**/app/deliveries/*");
    // The receiver has the delivery before the server has put the answer on record.
    await reloadUntil(page, page.getByText("The endpoint responded with 503").or(page.getByText("the endpoint responded with 503")));
    await page.getByText("not today").waitFor();
    assert.match(await page.getByLabel("Message body").textContent(), new RegExp(txn));

    receiver.status = 204;
    await page.getByRole("button", { name: "Resend" }).click();
    await page.getByText("Resending now.").waitFor();
    const [first, second] = await receiver.until(2);
    assert.equal(second.body, first.body);
    assert.equal(second.headers["px-delivery"], first.headers["px-delivery"]);
    await reloadUntil(page, page.getByText("Delivered"));

    await page.getByRole("link", { name: "Endpoint" }).click();
    const row = page.getByRole("link", { name: "approval.requested" });
    for (const [words, found] of [[txn, 1], ["approval.expired", 0], ["Approval.Requested", 1], ["nonsense", 0]]) {
      await page.getByLabel("Event or transaction").fill(words);
      await page.getByRole("button", { name: "Show" }).click();
      await page.waitForURL(`**?q=${encodeURIComponent(words)}&status=`);
      assert.equal(await row.count(), found, words);
      assert.equal(await page.getByText("No matching deliveries.").count(), 1 - found, words);
    }
  }, { refusals: [422] });
});
