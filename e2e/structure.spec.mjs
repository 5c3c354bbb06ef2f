// What a screen reader is told where people decide: roles, names and their order.

import assert from "node:assert/strict";
import test from "node:test";

import { World, opened } from "./support/world.mjs";

const world = World.forThisFile();

const REQUEST = `
- article "POST HOST":
  - heading "POST HOST" [level=2]
  - text: Pending
  - paragraph: /orders
  - paragraph: "Plain http: anyone on the network path can read and change this request."
  - paragraph:
    - strong: default-agent
    - text: wants to use
    - strong: billing-api
  - blockquote:
    - paragraph: “to place the order”
  - term: Paused by
  - definition: POST needs approval (workspace mode)
  - term: Requested
  - definition:
    - time: AGO
  - term: Expires
  - definition:
    - time: in TIME, at CLOCK
  - region "Body":
    - paragraph: JSON body 16 bytes application/json SHA-256 498207608015
    - text: "{ \\"note\\": \\"hello\\" }"
    - group: Raw body`;

const INBOX_ANSWERS = `
  - button "Approve"
  - group: Approve for 30 min…
  - group: Deny…
  - paragraph: Approving sends exactly this request, once, immediately. There is no undo.`;

const COVERS = "Also allow every POST to http://HOST/orders with billing-api " +
  "for 30 minutes (until CLOCK), with any query and body. 1 of 1 recent request matches, from default-agent.";

const STANDALONE_ANSWERS = `
  - group: Edit before approving
  - checkbox "${COVERS}"
  - text: ${COVERS}
  - button "Approve"
  - group: Deny…
  - paragraph: Approving sends exactly this request, once, immediately. There is no undo.`;

const STANDALONE = `
- main:
  - heading "An agent asks for your approval" [level=1]
  - paragraph: Workspace default. Approve only what you expected.${indented(REQUEST + STANDALONE_ANSWERS)}
  - paragraph:
    - link "Open the inbox":
      - /url: /app/inbox`;

function indented(text) {
  return text.replaceAll("\n", "\n  ");
}

/** The lines of a tree without their depth. */
function flat(text) {
  return text.replaceAll(/\n\s+/g, "\n");
}

/** The tree of roles and names, without what differs from run to run. */
async function tree(locator) {
  const snapshot = await locator.ariaSnapshot();
  return `\n${snapshot}`
    .replaceAll(world.upstream.host, "HOST")
    .replaceAll(/time: (just now|.+ ago)/g, "time: AGO")
    .replaceAll(/in \d.*?, at/g, "in TIME, at")
    .replaceAll(/\d\d:\d\d( [AP]M)? UTC/g, "CLOCK");
}

test("a screen reader hears the same request in the inbox and on the approval page, with each one's answers", async () => {
  const txn = await world.agent.ask("/orders", { reason: "to place the order" });
  await world.asOwner(async (page) => {
    await page.goto("/app/inbox");
    const heard = flat(await tree(await opened(page, txn)));
    assert.match(heard, /\n- article "POST HOST\/orders":/);
    assert.match(heard, /\n- checkbox "Select POST HOST\/orders"/);
    // The row is followed by the same as on the page, from the path on.
    const request = flat(REQUEST.slice(REQUEST.indexOf("\n  - paragraph: /orders")) + INBOX_ANSWERS);
    assert.ok(heard.includes(request), heard);
    await page.goto(`/approve/${txn}`);
    assert.equal(await tree(page.getByRole("main")), STANDALONE);
  }, { locale: "en-US", timezoneId: "UTC" });
});
