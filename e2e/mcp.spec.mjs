// Agents that speak MCP, through the official clients of both generations; a person approves in Chromium.

import assert from "node:assert/strict";
import test from "node:test";

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Client as EarlierClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as EarlierTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

import { SECRET, World, opened } from "./support/world.mjs";

const world = World.forThisFile();
const TOOLS = ["services", "call", "propose_task", "wait", "withdraw", "explain"];
const WHO = { name: "a-test", version: "1.0.0" };

function endpoint() {
  const headers = { Authorization: `Bearer ${world.server.bootstrap.agent_key}` };
  return [new URL(world.server.url("/mcp")), { requestInit: { headers } }];
}

/** The ways in which programs connect. */
const CLIENTS = {
  "the client of 2026": async () => {
    const client = new Client(WHO);
    await client.connect(new StreamableHTTPClientTransport(...endpoint()));
    return client;
  },
  "the client of 2025": async () => {
    const client = new EarlierClient(WHO);
    await client.connect(new EarlierTransport(...endpoint()));
    return client;
  },
  "a client that speaks only stdio": async () => {
    const client = new Client(WHO);
    const [url] = endpoint();
    await client.connect(new StdioClientTransport({
      command: process.env.PX_TEST_PYXIS,
      args: ["mcp", "--url", url.origin],
      env: { PX_AGENT_KEY: world.server.bootstrap.agent_key },
    }));
    return client;
  },
};

for (const [name, connect] of Object.entries(CLIENTS)) {
  test(`${name} lists services, reads, and writes after a person approved`, async () => {
    const client = await connect();
    try {
      const { tools } = await client.listTools();
      assert.deepEqual(tools.map((tool) => tool.name), TOOLS);
      const services = await client.callTool({ name: "services", arguments: {} });
      assert.equal(services.structuredContent.services[0].credential, "billing-api");

      const call = (method, path, more = {}) => client.callTool({
        name: "call",
        arguments: { credential: "billing-api", method, url: world.upstream.url(path), ...more },
      });
      const read = await call("GET", "/invoices");
      assert.equal(read.structuredContent.status, 200, JSON.stringify(read));
      assert.ok(!JSON.stringify(read).includes(SECRET));

      const reason = `to pay, says ${name}`;
      const written = call("POST", "/payments", { body: { amount: 5 }, reason });
      await world.asOwner(async (page) => {
        await page.goto("/app/inbox");
        const txn = await page.locator("[id^=r-]").filter({ hasText: reason }).getAttribute("id");
        const asked = await opened(page, txn.slice(2));
        await asked.getByText(reason).first().waitFor();
        await asked.getByRole("button", { name: "Approve", exact: true }).click();
        const answer = await written;
        assert.equal(answer.structuredContent.status, 200, JSON.stringify(answer));
        assert.ok(!JSON.stringify(answer).includes(SECRET));
      });
    } finally {
      await client.close();
    }
  });
}
