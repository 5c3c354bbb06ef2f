// Credentials that fetch tokens, against a real OAuth 2.0 server: an account that the owner connects in the
// browser, its renewal and its end, and a client without a person.

import assert from "node:assert/strict";
import test, { after } from "node:test";

import { CLIENT_SECRET, OAuthServer } from "./support/provider.mjs";
import { World } from "./support/world.mjs";

let oauth;
const world = World.forThisFile({}, async () => {
  oauth = await OAuthServer.start(world.server.url("/app/oauth/callback"));
});
after(() => oauth?.stop());

/** A GET with a credential; status and body. */
async function get(credential, path) {
  const answer = await world.agent.forward("GET", path, { credential, target: oauth.url(path) });
  return { status: answer.status, body: await answer.json() };
}

/** Adds the account by the form of its kind. */
async function addAccount(page, name) {
  await page.goto("/app/new/credential");
  await page.getByRole("navigation", { name: "Credential kind" }).getByRole("link", { name: "OAuth 2.0 account" }).click();
  await page.getByText(world.server.url("/app/oauth/callback")).waitFor();
  await page.getByLabel("Name", { exact: true }).fill(name);
  await page.getByLabel("Authorization URL").fill(oauth.url("/auth"));
  await page.getByLabel("Token URL").fill(oauth.url("/token"));
  await page.getByLabel("Scope").fill("openid offline_access");
  await page.getByLabel("Extra authorization parameters").fill("prompt=consent");
  await page.getByLabel("Client id", { exact: true }).fill("pyxis");
  await page.getByLabel("Client secret").fill(CLIENT_SECRET);
  await page.getByLabel("Allowed hosts").fill(oauth.host);
  await page.getByLabel("Allow plain http targets").check();
  await page.getByRole("button", { name: "Add credential" }).click();
  await page.waitForURL(`**/app/credentials/${name}`);
}

/** From the credential's page to the provider's page of consent; answers there. */
async function connect(page, answer) {
  await page.getByRole("button", { name: "Connect…" }).click();
  await page.getByRole("link", { name: "Go to the provider" }).click();
  await page.waitForURL(/\/interaction\//);
  const signIn = page.getByRole("button", { name: "Sign in" });
  if (await signIn.isVisible()) await signIn.click();
  await page.getByRole("button", { name: answer }).click();
}

async function finish(page) {
  await page.waitForURL("**/app/oauth/callback?*");
  await page.getByRole("button", { name: "Store the connection" }).click();
  await page.getByText("Connected. Tokens are renewed automatically.").waitFor();
}

test("an account is connected in the browser, renewed with every refresh token used once, and connected again", async () => {
  await world.asOwner(async (page) => {
    await addAccount(page, "ana");
    const before = await get("ana", "/me");
    assert.equal(before.status, 502);
    assert.equal(before.body.code, "reauthorization_required");

    await connect(page, "Allow");
    await finish(page);
    assert.deepEqual(oauth.given, ["authorization_code"]);

    // The first token is nearly over, as is every one after it.
    for (let count = 1; count <= 3; count += 1) {
      assert.deepEqual(await get("ana", "/me"), { status: 200, body: { sub: "ana" } });
      assert.equal(oauth.consumed, count);
    }
    // A token that lasts is used again.
    oauth.life = 3600;
    for (let count = 0; count < 3; count += 1) assert.equal((await get("ana", "/me")).status, 200);
    assert.deepEqual(oauth.given, ["authorization_code", ...Array(4).fill("refresh_token")]);
    oauth.life = 20;
  });
  // What the store has outlives the process.
  await world.server.restart();
  assert.equal((await get("ana", "/me")).status, 200);
  assert.equal(oauth.given.length, 5, "the stored token is still good");
});

test("a withdrawn consent ends in reauthorization_required, whose link leads to the way back", async () => {
  // Another origin after the restart, which the provider does not know: so a provider of its own.
  oauth.stop();
  oauth = await OAuthServer.start(world.server.url("/app/oauth/callback"));
  await world.asOwner(async (page) => {
    await addAccount(page, "bo");
    await connect(page, "Refuse");
    await page.getByText("Not connected: the provider refused").waitFor();
    assert.equal((await get("bo", "/me")).body.code, "reauthorization_required");

    await page.goto("/app/credentials/bo");
    await connect(page, "Allow");
    await finish(page);
    assert.deepEqual(await get("bo", "/me"), { status: 200, body: { sub: "ana" } });

    await oauth.withdrawConsent();
    const ended = await get("bo", "/me");
    assert.equal(ended.status, 502);
    assert.equal(ended.body.code, "reauthorization_required");
    assert.equal(ended.body.url, world.server.url("/app/credentials/bo"));
    // Nobody asks the provider again without effect.
    const asked = oauth.given.length;
    assert.equal((await get("bo", "/me")).body.code, "reauthorization_required");
    assert.equal(oauth.given.length, asked);

    await page.goto(ended.body.url);
    await page.getByText("The provider rejects the stored tokens").waitFor();
    await connect(page, "Allow");
    await finish(page);
    assert.equal(await page.getByText("The provider rejects the stored tokens").count(), 0);
    assert.deepEqual(await get("bo", "/me"), { status: 200, body: { sub: "ana" } });
  });
});

test("a client without a person fetches its own token, and a wrong secret is told without its words", async () => {
  await world.asOwner(async (page) => {
    for (const [name, secret] of [["robot", CLIENT_SECRET], ["robot-wrong", "cs-canary-wrong"]]) {
      await page.goto("/app/new/credential?kind=oauth2_client_credentials");
      await page.getByLabel("Name", { exact: true }).fill(name);
      await page.getByLabel("Token URL").fill(oauth.url("/token"));
      await page.getByLabel("Scope").fill("count");
      await page.getByLabel("Client id", { exact: true }).fill("robot");
      await page.getByLabel("Client secret").fill(secret);
      await page.getByLabel("Allowed hosts").fill(oauth.host);
      await page.getByLabel("Allow plain http targets").check();
      await page.getByRole("button", { name: "Add credential" }).click();
      await page.waitForURL(`**/app/credentials/${name}`);
    }
    oauth.life = 3600;
    const given = oauth.given.length;
    const answers = await Promise.all(Array.from({ length: 8 }, () => get("robot", "/robots")));
    for (const answer of answers) assert.deepEqual(answer, { status: 200, body: { client: "robot", scope: "count" } });
    assert.equal(oauth.given.length, given + 1);
    const refused = await get("robot-wrong", "/robots");
    assert.equal(refused.status, 502);
    assert.equal(refused.body.code, "token_error");
    assert.match(refused.body.detail, /invalid_client/);
    assert.doesNotMatch(JSON.stringify(refused.body), /canary/);

    // The page can try it too.
    await page.goto("/app/credentials/robot");
    await page.getByLabel("URL to try").fill(oauth.url("/robots"));
    await page.getByRole("button", { name: "Verify" }).click();
    await page.getByText(/^200, .*the API accepted the request/).waitFor();
  });
});
