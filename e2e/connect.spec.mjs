// The page of a new agent's key says live when the first call has arrived; so does the page under Connect.

import assert from "node:assert/strict";
import test from "node:test";

import { addAgent } from "./support/new-agent.mjs";
import { World } from "./support/world.mjs";

const world = World.forThisFile();

/** The agent's first message: what a program connected by MCP says. */
async function call(key) {
  const answer = await fetch(world.server.url("/mcp"), {
    method: "POST",
    headers: {
      "Authorization": `Bearer ${key}`,
      "Content-Type": "application/json",
      "Accept": "application/json, text/event-stream",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} }),
  });
  assert.equal(answer.status, 200, await answer.text());
}

test("the page of a new key waits for the first call, and says when it has arrived", async () => {
  await world.asOwner(async (page) => {
    const key = await addAgent(page, "newcomer");
    const status = page.getByRole("status").filter({ hasText: "call" });
    await page.getByText("Waiting for a call from this agent…").waitFor();
    await page.getByText("Codex", { exact: true }).click();
    await page.getByText("[mcp_servers.pyxis]").waitFor();
    assert.equal(await page.getByText("Connected. A call has arrived.").count(), 0);
    await call(key);
    await page.getByText("Connected. A call has arrived.").waitFor();
    assert.match(await status.getAttribute("class"), /arrived/u);
  });
});

test("the page under Connect says when another call of a known agent has arrived", async () => {
  await world.asOwner(async (page) => {
    const key = await addAgent(page, "regular");
    await call(key);
    await page.getByRole("link", { name: "I have stored the key" }).click();
    await page.getByRole("link", { name: "Connect", exact: true }).click();
    await page.getByText("Active: the latest call arrived").waitFor();
    assert.ok(!(await page.content()).includes(key), "the key is shown once");
    await call(key);
    await page.getByText("Connected. A new call has arrived.").waitFor();
  });
});
