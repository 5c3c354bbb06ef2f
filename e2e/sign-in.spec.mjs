// Signing in.

import assert from "node:assert/strict";
import test from "node:test";

import { OWNER, PASSWORD, World, setPassword } from "./support/world.mjs";

const world = World.forThisFile();

async function trySignIn(page, password) {
  await page.getByLabel("E-mail address").fill(OWNER);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
}

test("the owner's link sets a password, works once, and the password signs in again", async () => {
  await world.asStranger(async (page) => {
    await setPassword(page, world.server.ownerLink);
    await page.getByRole("navigation", { name: "Main", exact: true }).getByRole("button", { name: "Sign out" }).click();
    await page.waitForURL("**/sign-in");
    await page.goto(world.server.ownerLink);
    await page.getByRole("heading", { name: "This link has been used or has expired" }).waitFor();
    await page.goto("/sign-in");
    await trySignIn(page, PASSWORD);
    await page.waitForURL("**/app");
  }, { refusals: [404] });
});

test("an approval link asks to sign in first and then shows the request", async () => {
  const txn = await world.agent.ask("/after-sign-in");
  await world.asStranger(async (page) => {
    await page.goto(`/approve/${txn}`);
    await page.getByText("Sign in to decide an agent's request.").waitFor();
    await trySignIn(page, PASSWORD);
    await page.getByRole("heading", { name: "An agent asks for your approval" }).waitFor();
    assert.equal(new URL(page.url()).pathname, `/approve/${txn}`);
  });
});

test("after five wrong passwords the right one is not even tried", async () => {
  await world.asStranger(async (page) => {
    await page.goto("/sign-in");
    for (let attempt = 1; attempt <= 5; attempt += 1) {
      const answer = page.waitForResponse((response) => response.request().method() === "POST");
      await trySignIn(page, `wrong password ${attempt}`);
      assert.equal((await answer).status(), 401);
      await page.getByText("E-mail address or password is wrong.").waitFor();
    }
    await trySignIn(page, PASSWORD);
    await page.getByText("Too many failed attempts. Wait 15 minutes").waitFor();
    assert.equal(new URL(page.url()).pathname, "/sign-in");
  }, { refusals: [401, 429] });
});
