// Connectors that only do OAuth, through the official clients of both generations; a person consents in Chromium.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import test from "node:test";

import { Client, StreamableHTTPClientTransport, UnauthorizedError } from "@modelcontextprotocol/client";
import { UnauthorizedError as EarlierUnauthorized } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client as EarlierClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as EarlierTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

import { OWNER, PASSWORD, SECRET, World } from "./support/world.mjs";
import { within } from "./support/within.mjs";

const world = World.forThisFile();
const WHO = { name: "a-test", version: "1.0.0" };
const TOOLS = ["services", "call", "propose_task", "wait", "withdraw", "explain"];

/** State of a connector: its registration and its tokens. */
class Provider {
  #client;
  #tokens;
  #verifier;
  asked;
  given = "state-of-the-test";

  constructor(name, redirectUrl) {
    this.redirectUrl = redirectUrl;
    this.clientMetadata = {
      client_name: name,
      redirect_uris: [redirectUrl],
      token_endpoint_auth_method: "client_secret_post",
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
    };
  }

  state() { return this.given; }
  clientInformation() { return this.#client; }
  saveClientInformation(client) { this.#client = client; }
  tokens() { return this.#tokens; }
  saveTokens(tokens) { this.#tokens = tokens; }
  saveCodeVerifier(verifier) { this.#verifier = verifier; }
  codeVerifier() { return this.#verifier; }
  redirectToAuthorization(url) { this.asked = url; }
  invalidateCredentials(what) { if (["all", "tokens"].includes(what)) this.#tokens = undefined; }
}

/** The page of the connector that the person comes back to. */
async function connectorPage() {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${server.address().port}/callback`;
  const returned = new Promise((resolve) => {
    server.on("request", (request, response) => {
      const called = new URL(request.url, url);
      response.setHeader("Content-Type", "text/html");
      response.end("<title>Back</title>Back at the connector");
      if (called.pathname === "/callback") resolve(called.searchParams);
    });
  });
  return { url, returned, close: () => server.close() };
}

const GENERATIONS = {
  "the client of 2026": [Client, StreamableHTTPClientTransport, UnauthorizedError, (back) => [back]],
  "the client of 2025": [EarlierClient, EarlierTransport, EarlierUnauthorized, (back) => [back.get("code")]],
};

for (const [name, [Sdk, Transport, Unauthorized, finished]] of Object.entries(GENERATIONS)) {
  test(`${name} registers, is consented to, calls a tool, and renews its token`, async () => {
    const back = await connectorPage();
    try {
      const provider = new Provider(`Connector of ${name}`, back.url);
      const url = new URL(world.server.url("/mcp"));
      const transport = new Transport(url, { authProvider: provider });
      await assert.rejects(new Sdk(WHO).connect(transport), Unauthorized);
      assert.equal(provider.asked.searchParams.get("resource"), url.href);
      assert.equal(provider.asked.searchParams.get("code_challenge_method"), "S256");

      await world.asOwner(async (page) => {
        await page.goto(provider.asked.href);
        await page.getByRole("heading", { name: `Let Connector of ${name} act as an agent?` }).waitFor();
        await page.getByText(new URL(back.url).host).first().waitFor();
        await page.getByText("on your own computer").waitFor();
        await page.getByLabel("default-agent").check();
        await page.getByRole("button", { name: "Connect", exact: true }).click();
        await page.getByText("Back at the connector").waitFor();
      });
      const returned = await within("the way back to the connector", back.returned);
      assert.equal(returned.get("state"), provider.given);
      assert.equal(returned.get("iss"), url.origin);
      await transport.finishAuth(...finished(returned));
      assert.ok(provider.tokens().access_token.startsWith("px_access_"));

      const connected = async (use) => {
        const client = new Sdk(WHO);
        await client.connect(new Transport(url, { authProvider: provider }));
        try {
          await use(client);
        } finally {
          await client.close();
        }
      };
      await connected(async (client) => {
        const { tools } = await client.listTools();
        assert.deepEqual(tools.map((tool) => tool.name), TOOLS);
        const target = { credential: "billing-api", url: world.upstream.url("/invoices") };
        const read = await client.callTool({ name: "call", arguments: target });
        assert.equal(read.structuredContent.status, 200, JSON.stringify(read));
        assert.ok(!JSON.stringify(read).includes(SECRET));
      });

      const before = provider.tokens();
      await world.server.sql("UPDATE connection_tokens SET expires_at = 1 WHERE NOT is_refresh");
      await connected(async (client) => {
        const services = await client.callTool({ name: "services", arguments: {} });
        assert.equal(services.structuredContent.agent, "default-agent");
      });
      assert.notEqual(provider.tokens().access_token, before.access_token);
      assert.notEqual(provider.tokens().refresh_token, before.refresh_token);

      await world.asOwner(async (page) => {
        await page.goto("/app/agents");
        await page.getByRole("link", { name: "default-agent" }).click();
        const row = page.getByRole("row").filter({ hasText: `Connector of ${name}` });
        await row.getByText("Revoke…").click();
        await row.getByRole("button", { name: "Revoke the connection" }).click();
        await page.getByText("Connection revoked.").waitFor();
      });
      await assert.rejects(connected(() => {}), Unauthorized);
    } finally {
      back.close();
    }
  });
}

test("a person who is not signed in signs in and refuses, in a window that the connector still knows", async () => {
  const back = await connectorPage();
  try {
    const provider = new Provider("Refused connector", back.url);
    const url = new URL(world.server.url("/mcp"));
    const transport = new StreamableHTTPClientTransport(url, { authProvider: provider });
    await assert.rejects(new Client(WHO).connect(transport), UnauthorizedError);
    // The owner's password is set with the first visit of the owner.
    await world.asOwner((page) => page.goto("/app/inbox"));
    await world.asStranger(async (page) => {
      await page.goto(new URL("/start", back.url).href);
      const opened = page.waitForEvent("popup");
      await page.evaluate((href) => void window.open(href), provider.asked.href);
      const popup = await opened;
      await popup.getByText("Sign in to decide whether a program may act as an agent.").waitFor();
      await popup.getByLabel("E-mail address").fill(OWNER);
      await popup.getByLabel("Password", { exact: true }).fill(PASSWORD);
      await popup.getByRole("button", { name: "Sign in", exact: true }).click();
      await popup.getByRole("heading", { name: "Let Refused connector act as an agent?" }).waitFor();
      await popup.getByRole("button", { name: "Refuse", exact: true }).click();
      await popup.getByText("Back at the connector").waitFor();
      assert.ok(await popup.evaluate(() => window.opener !== null), "the connector's page can be told");
    });
    const returned = await within("the way back to the connector", back.returned);
    assert.equal(returned.get("error"), "access_denied");
    assert.equal(returned.get("code"), null);
  } finally {
    back.close();
  }
});
