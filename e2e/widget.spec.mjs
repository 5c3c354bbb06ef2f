// The widget in a page of another origin, under a strict policy, with a wallet that signs.

import assert from "node:assert/strict";
import { webcrypto } from "node:crypto";
import { once } from "node:events";
import { after, before, test } from "node:test";

import { application } from "../examples/widget/server.mjs";
import { findings } from "./support/axe.mjs";
import { answers, holder, inject, refuse, Site } from "./support/holder.mjs";
import { Issuer } from "./support/issuer.mjs";
import { World } from "./support/world.mjs";

/** Directory for pictures; none are taken without it. */
const PICTURES = process.env.PX_TEST_PICTURES;
const GOOD = holder(11);
const POOR = holder(12);
const issuer = new Issuer();
let site;
let key;
let other;

const world = World.forThisFile({}, prepare);
before(async () => (site = await Site.start()));
after(() => site?.stop());

async function prepare() {
  const { scorer_id: scorer } = world.server.bootstrap;
  await manage("POST", "/admin/issuers", { did: issuer.did, name: "Ours" });
  const terms = { threshold: "3", weights: { Discord: "2", Google: "1.5", Lens: "1", Ens: "0.5", Github: "0.25", Nouns: "0.1" } };
  await manage("PATCH", `/admin/scorers/${scorer}`, { ...terms, revision: 1 });
  const { platforms } = await (await world.admin("GET", "/admin/catalogue")).json();
  platforms.find(({ id }) => id === "Lens").url = "https://lens.example/stamp";
  await manage("PUT", "/admin/catalogue", { platforms });
  other = (await manage("POST", "/admin/scorers", { name: "another" })).id;
  key = (await manage("POST", "/admin/api-keys", {
    name: "page", kind: "publishable", scorer_id: scorer, origins: ["http://localhost:*"], stamps_tier: 3,
  })).key;
  await bring(GOOD.address, "Discord", "v1:good-discord");
  await bring(GOOD.address, "Google", "v1:good-google");
  await bring(POOR.address, "Google", "v1:poor-google");
}

async function manage(method, path, body) {
  const answer = await world.admin(method, path, body);
  assert.ok(answer.ok, await answer.clone().text());
  return answer.json();
}

async function bring(address, provider, nullifier) {
  const headers = { "X-API-KEY": world.server.bootstrap.api_key, "Content-Type": "application/json" };
  const body = JSON.stringify([issuer.issue(address, provider, nullifier)]);
  const answer = await fetch(world.server.url(`/v2/stamps/${address.toLowerCase()}`), { method: "POST", headers, body });
  assert.equal((await answer.json()).items[0].status, "accepted");
}

/** Opens a page with the widget; `body` gets the page and the widget's events. */
async function withWidget(options, body) {
  const { account = GOOD, on, wallets = 1, announce = false, host, attributes = {}, visit = {} } = options;
  const server = options.server ?? world.server.base;
  const named = { server, scorer: world.server.bootstrap.scorer_id, "publishable-key": key, ...attributes };
  const written = Object.entries(named).map(([name, value]) => `${name}="${value}"`).join(" ");
  const script = world.server.url("/assets/widget/v1/pyxis-passport.js");
  site.policy = `default-src 'none'; script-src ${world.server.base}; connect-src ${server}; require-trusted-types-for 'script'; trusted-types 'none'`;
  site.html = `<!doctype html><html lang="en"><title>Shop</title><meta name="viewport" content="width=device-width"><main>
    <h1>Shop</h1><pyxis-passport ${written}></pyxis-passport></main>
    <script type="module" crossorigin src="${script}"></script></html>`;
  const events = [];
  const breaches = [];
  await world.asStranger(async (page) => {
    page.on("console", (message) => /Content Security Policy|TrustedScript/.test(message.text()) && breaches.push(message.text()));
    await page.exposeFunction("askHolder", answers(account, on));
    await page.exposeFunction("noteEvent", (text) => events.push(JSON.parse(text)));
    await page.addInitScript(inject, {
      wallets: Array.from({ length: wallets }, (_, number) => ({ name: `Wallet ${number + 1}` })), announce,
    });
    await page.addInitScript(() => {
      for (const name of ["pyxis-connected", "pyxis-result", "pyxis-error", "pyxis-signed-out"]) {
        document.addEventListener(name, (event) => globalThis.noteEvent(JSON.stringify({ name, ...event.detail })));
      }
    });
    await page.goto(site.url(host));
    await body(page, events);
  }, visit);
  assert.deepEqual(breaches, [], "the page's policy holds");
}

function connect(page) {
  return page.getByRole("button", { name: "Connect wallet" }).click();
}

/** Claims of a token, verified as the page's server does it: with the published keys. */
async function verified(token) {
  const [header, claims, signature] = token.split(".");
  const { kid } = JSON.parse(Buffer.from(header, "base64url"));
  const { keys } = await (await fetch(world.server.url("/.well-known/jwks.json"))).json();
  const jwk = keys.find((one) => one.kid === kid);
  const algorithm = { name: "ECDSA", namedCurve: "P-256" };
  const publicKey = await webcrypto.subtle.importKey("jwk", jwk, algorithm, false, ["verify"]);
  const content = Buffer.from(`${header}.${claims}`);
  const given = Buffer.from(signature, "base64url");
  assert.ok(await webcrypto.subtle.verify({ name: "ECDSA", hash: "SHA-256" }, publicKey, given, content));
  return JSON.parse(Buffer.from(claims, "base64url"));
}

async function picture(page, name) {
  if (PICTURES) await page.screenshot({ path: `${PICTURES}/widget-${name}.png`, fullPage: true });
}

async function isAccessible(page) {
  assert.deepEqual(await findings(page), []);
}

test("a holder connects, signs, passes, and the page gets a result that its server verifies", async () => {
  await withWidget({ attributes: { challenge: "visit-7" } }, async (page, events) => {
    await isAccessible(page);
    await connect(page);
    await page.getByText("Passed", { exact: true }).waitFor();
    await page.getByText("Score 3.5 of 3").waitFor();
    await page.getByRole("status").filter({ hasText: "Passed. Your score is high enough." }).waitFor({ state: "attached" });
    await isAccessible(page);
    const result = events.find((event) => event.name === "pyxis-result");
    assert.deepEqual([result.passing, result.score, result.address], [true, "3.50000", GOOD.address.toLowerCase()]);
    const claims = await verified(result.jwt);
    assert.deepEqual(
      [claims.sub, claims.aud, claims.nonce, claims.passing_score, claims.scorer_id],
      [GOOD.address.toLowerCase(), new URL(page.url()).origin, "visit-7", true, world.server.bootstrap.scorer_id],
    );
    await page.getByRole("button", { name: "Check again" }).click();
    await page.getByText("Passed", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Disconnect" }).click();
    await page.getByRole("button", { name: "Connect wallet" }).waitFor();
    assert.equal(events.at(-1).name, "pyxis-signed-out");
  });
});

test("a holder who falls short sees what is missing and where to get it", async () => {
  const attributes = { "issuer-url": "https://issuer.example/get?p={platform}&s={stamp}" };
  await withWidget({ account: POOR, attributes }, async (page, events) => {
    await connect(page);
    await page.getByText("Not enough yet", { exact: true }).waitFor();
    await page.getByText("1.5 more points are needed.", { exact: true }).waitFor();
    const discord = page.getByRole("listitem").filter({ hasText: "Discord" });
    const link = discord.getByRole("link", { name: /Get it Discord \(opens in a new tab\)/ });
    assert.equal(await link.getAttribute("href"), "https://issuer.example/get?p=Discord&s=Discord");
    assert.equal(await link.getAttribute("rel"), "noopener noreferrer");
    await page.getByText("Show all 5").click();
    await page.getByRole("listitem").filter({ hasText: "Nouns" }).waitFor();
    await isAccessible(page);
    assert.equal(events.find((event) => event.name === "pyxis-result").passing, false);
    // A page's own list comes first; a link that is none of the web is left out.
    await page.locator("pyxis-passport").evaluate((widget) => (widget.issuerLinks = { Discord: "javascript:alert(1)" }));
    assert.equal(await discord.getByRole("link").count(), 0);
    await page.getByRole("heading", { name: "Stamps that you can add" }).waitFor();
    await page.locator("pyxis-passport").evaluate((widget) => widget.setAttribute("issuer-url", "javascript:alert(1)"));
    await page.getByRole("heading", { name: "Stamps that add points" }).waitFor();
    await isAccessible(page);
  });
});

test("without a link of the page, a Stamp has that of the catalogue or none", async () => {
  await withWidget({ account: POOR }, async (page) => {
    await connect(page);
    const lens = page.getByRole("listitem").filter({ hasText: "Lens" });
    const link = lens.getByRole("link", { name: /Get it Lens \(opens in a new tab\)/ });
    assert.equal(await link.getAttribute("href"), "https://lens.example/stamp");
    assert.equal(await page.getByRole("listitem").filter({ hasText: "Discord" }).getByRole("link").count(), 0);
    // A link of the page comes before that of the catalogue.
    await page.locator("pyxis-passport").evaluate((widget) => (widget.issuerLinks = { Lens: "https://shop.example/get" }));
    assert.equal(await link.getAttribute("href"), "https://shop.example/get");
  });
});

test("the keyboard is enough, and the focus stays inside", async () => {
  await withWidget({ visit: { reducedMotion: "reduce" } }, async (page) => {
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByText("Passed", { exact: true }).waitFor();
    const focused = () => page.evaluate(() => document.querySelector("pyxis-passport").shadowRoot.activeElement?.textContent);
    assert.equal(await focused(), "Your passport score");
    await page.keyboard.press("Tab");
    assert.equal(await focused(), "Check again");
  });
});

test("several wallets are offered by name, and a changed account ends the session", async () => {
  await withWidget({ wallets: 2, announce: true }, async (page, events) => {
    await connect(page);
    await page.getByRole("button", { name: "Wallet 1" }).waitFor();
    await page.getByRole("button", { name: "Wallet 2" }).click();
    await page.getByText("Passed", { exact: true }).waitFor();
    await page.evaluate(() => globalThis.wallets[1].provider.change());
    await page.getByText("The wallet's account has changed. Connect again.").first().waitFor();
    assert.equal(events.at(-1).code, "changed");
  });
});

test("refusals of the holder and of the wallet say what happened, and can be tried again", async () => {
  let refuses = true;
  const decide = (params) => (refuses ? refuse(4001)() : GOOD.signMessage({ message: { raw: params[0] } }));
  await withWidget({ on: { personal_sign: decide } }, async (page, events) => {
    await connect(page);
    await page.getByText("You declined the request in your wallet. Nothing was shared.").first().waitFor();
    assert.equal(events.at(-1).code, "rejected");
    await isAccessible(page);
    refuses = false;
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByText("Passed", { exact: true }).waitFor();
  });
  await withWidget({ on: { eth_requestAccounts: refuse(-32002, "pending") } }, async (page) => {
    await connect(page);
    await page.getByText("Your wallet has an open request.").first().waitFor();
  });
  const stranger = (params) => POOR.signMessage({ message: { raw: params[0] } });
  await withWidget({ on: { personal_sign: stranger, eth_chainId: () => "0x1" } }, async (page, events) => {
    await connect(page);
    await page.getByText("This wallet is a contract on a network").first().waitFor();
    assert.equal(events.at(-1).code, "noNode");
  });
  await withWidget({ wallets: 0 }, async (page) => {
    await connect(page);
    await page.getByText("No wallet was found in this browser.").first().waitFor();
    assert.equal(await page.getByRole("button").count(), 0);
  });
});

test("an expired nonce asks for another signature", async () => {
  let isLate = true;
  const late = async (params) => {
    if (isLate) await world.server.sql("UPDATE widget_nonces SET expires_at = 0");
    return GOOD.signMessage({ message: { raw: params[0] } });
  };
  await withWidget({ on: { personal_sign: late } }, async (page, events) => {
    await connect(page);
    await page.getByText("The sign-in has expired. Sign again.").first().waitFor();
    assert.equal(events.at(-1).code, "expired");
    isLate = false;
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByText("Passed", { exact: true }).waitFor();
  });
});

test("a page that is not set up tells its owner why", async () => {
  // Only localhost is an origin of the key, and a browser hides from a page what other origins may not read.
  await withWidget({ host: "127.0.0.1" }, async (page, events) => {
    await connect(page);
    await page.getByText("The score server cannot be reached.").first().waitFor();
    // The visitor of such a page is its developer.
    await page.getByText(`add the origin ${new URL(page.url()).origin} to the publishable key`).waitFor();
    await isAccessible(page);
    assert.equal(events.at(-1).code, "offline");
  });
  for (const [attributes, said] of [
    [{ scorer: other }, `This key reads scorer ${world.server.bootstrap.scorer_id} only.`],
    [{ "publishable-key": world.server.bootstrap.api_key }, "not a publishable key"],
    [{ "publishable-key": "px_pub_unknown" }, "the publishable key is unknown or revoked"],
    [{ scorer: "first" }, "not the number of a scorer"],
    [{ server: "pyxis" }, "not the address of a Pyxis server"],
  ]) {
    await withWidget({ attributes }, async (page, events) => {
      await connect(page);
      await page.getByText(said).first().waitFor();
      assert.equal(events.at(-1).code, "setup");
      assert.equal(await page.getByRole("button").count(), 0, "the holder cannot help it");
    });
  }
  await withWidget({ server: "http://localhost:9" }, async (page, events) => {
    await connect(page);
    await page.getByText("The score server cannot be reached.").first().waitFor();
    assert.equal(events.at(-1).code, "offline");
  });
});

test("texts follow the language and the page, and colors the scheme and the page", async () => {
  await withWidget({ attributes: { lang: "de-CH" }, visit: { colorScheme: "dark" } }, async (page) => {
    await page.getByRole("button", { name: "Wallet verbinden" }).click();
    await page.getByText("Bestanden", { exact: true }).waitFor();
    await page.getByText("Score 3.5 von 3").waitFor();
    await isAccessible(page);
    const widget = page.locator("pyxis-passport");
    const background = () => widget.evaluate((one) => getComputedStyle(one.shadowRoot.querySelector(".card")).backgroundColor);
    assert.equal(await background(), "rgb(23, 25, 38)");
    await widget.evaluate((one) => one.setAttribute("theme", "light"));
    assert.equal(await background(), "rgb(255, 255, 255)");
    await isAccessible(page);
    await widget.evaluate((one) => (one.messages = { pass: "Willkommen im Club" }));
    await page.getByText("Willkommen im Club", { exact: true }).waitFor();
  });
});

test("the example's server lets in who passes, once for each result", async () => {
  const settings = { pyxis: world.server.base, scorer: String(world.server.bootstrap.scorer_id), key };
  const example = application(settings);
  example.listen(0, "127.0.0.1");
  await once(example, "listening");
  settings.origin = `http://localhost:${example.address().port}`;
  try {
    for (const [account, said] of [[GOOD, "Welcome, "], [POOR, " does not pass yet."]]) {
      await withWidget({ account }, async (page, events) => {
        await page.goto(settings.origin);
        await connect(page);
        await page.getByText(said).waitFor();
        const { jwt } = events.find((event) => event.name === "pyxis-result");
        const again = await fetch(`${settings.origin}/result`, { method: "POST", body: jwt });
        assert.deepEqual([again.status, await again.text()], [400, "Refused: the challenge is unknown or was used"]);
        const short = `${account.address.slice(0, 6)}…${account.address.slice(-4)}`.toLowerCase();
        assert.ok((await page.locator("#answer").textContent()).includes(short));
      });
    }
    const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const nonce = await (await fetch(`${settings.origin}/challenge`, { method: "POST" })).text();
    for (const [body, reason] of [
      ["", "not a signed score"],
      ["garbage", "not a signed score"],
      [`a.${part(null)}.b`, "the challenge is unknown or was used"],
      [`${part(null)}.${part({ nonce })}`, "not a signed score"],
    ]) {
      const refused = await fetch(`${settings.origin}/result`, { method: "POST", body });
      assert.deepEqual([refused.status, await refused.text()], [400, `Refused: ${reason}`]);
    }
  } finally {
    example.closeAllConnections();
    example.close();
  }
});

test("a key made in the dashboard comes with code that works in its page", async () => {
  let code;
  await world.asOwner(async (page) => {
    await page.goto("/app/api-keys");
    await page.getByRole("link", { name: "Add publishable key" }).click();
    await page.getByLabel("Name").fill("shop");
    await page.getByLabel("Origins of your pages").fill("http://localhost:*");
    await page.getByRole("button", { name: "Add key" }).click();
    code = await page.getByLabel("Code for your page").innerText();
    assert.deepEqual(await findings(page), []);
  });
  await withWidget({}, async (page) => {
    site.html = `<!doctype html><html lang="en"><title>Shop</title><main><h1>Shop</h1>${code}</main></html>`;
    await page.goto(site.url());
    await connect(page);
    await page.getByText("Passed", { exact: true }).waitFor();
  });
});

test("a visitor gets a Stamp of the server in the page, and only if its rule holds", async () => {
  const { scorer_id } = world.server.bootstrap;
  const list = { name: "EarlyMember", description: "Joined in the first year", scorer_id, weight: "3" };
  await manage("POST", "/admin/allow-lists", list);
  await manage("POST", "/admin/allow-lists/EarlyMember/addresses", { addresses: [POOR.address.toLowerCase()] });
  const ask = async (page) => {
    await connect(page);
    await page.getByText("Not enough yet", { exact: true }).waitFor();
    await page.getByText("Joined in the first year", { exact: true }).waitFor();
    const button = page.getByRole("button", { name: "Get it here EarlyMember" });
    await button.focus();
    await page.keyboard.press("Enter");
  };
  await withWidget({ account: holder(13), visit: { viewport: { width: 320, height: 720 } } }, async (page) => {
    await ask(page);
    await page.getByText("This wallet is not on the list.", { exact: true }).waitFor();
    await picture(page, "not-on-the-list");
    await isAccessible(page);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 320, "nothing is wider than the window");
  });
  // A list asks for nothing; a token's Stamp asks for its ids.
  await withWidget({ account: holder(13), visit: { colorScheme: "dark" } }, async (page) => {
    await page.route(`**/widget/v1/${scorer_id}`, async (route) => {
      const response = await route.fetch();
      const view = await response.json();
      for (const stamp of view.stamps) if (stamp.issued_here) stamp.issued_here = "token_ids";
      await route.fulfill({ response, json: view });
    });
    let sent;
    await page.route("**/issue", async (route) => {
      if (route.request().method() === "POST") sent = route.request().postDataJSON();
      await route.continue();
    });
    await connect(page);
    await page.getByLabel("Token ids, separated by spaces").fill("7, 8 9");
    await picture(page, "token-ids");
    await isAccessible(page);
    await page.getByRole("button", { name: "Get it here EarlyMember" }).click();
    await page.getByText("Check what you entered: ").waitFor();
    assert.deepEqual(sent, { stamps: [{ provider: "EarlyMember", items: ["7", "8", "9"] }] });
  });
  await withWidget({ account: POOR }, async (page, events) => {
    await ask(page);
    await page.getByText("Passed", { exact: true }).waitFor();
    const focused = await page.evaluate(() => document.querySelector("pyxis-passport").shadowRoot.activeElement?.textContent);
    assert.equal(focused, "Your passport score");
    const result = events.filter((event) => event.name === "pyxis-result").at(-1);
    assert.deepEqual([result.passing, result.score], [true, "4.50000"]);
    assert.equal((await verified(result.jwt)).passing_score, true);
  });
});
