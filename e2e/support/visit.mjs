// A person's browser, and what it must never report.

import assert from "node:assert/strict";
import { chromium } from "playwright-core";

import { within } from "./within.mjs";

const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** The header of every page, to the byte. */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
  "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; " +
  "require-trusted-types-for 'script'; trusted-types 'none'";

/** The same on the one page that registers a service worker. */
const WITH_WORKER =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
  "worker-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; " +
  "require-trusted-types-for 'script'; trusted-types pyxis";

function policyOf(url) {
  return new URL(url).pathname === "/app/notifications" ? WITH_WORKER : CONTENT_SECURITY_POLICY;
}

export function launch() {
  const executablePath = process.env.PX_TEST_CHROMIUM;
  assert.ok(executablePath, "PX_TEST_CHROMIUM must name Chromium; run ci/e2e.sh");
  return chromium.launch({ executablePath, headless: true, args: FLAGS });
}

/**
 * Opens a page in a context of its own, runs `body` with it and closes it. Fails on anything in the
 * console, which is also where Chromium reports a breach of the CSP, on a script's error, and on a page
 * without the exact CSP. Pages of other origins may do as they like. `refusals` are the error statuses that the visit asks for on purpose.
 */
export async function visit(browser, { refusals = [], ...options }, body) {
  const context = await within("a new browser context", browser.newContext(options));
  const page = await within("a new page", context.newPage());
  const problems = [];
  const isOurs = (url) => url === "about:blank" || !options.baseURL || url.startsWith(options.baseURL);
  page.on("console", (message) => {
    if (!isOurs(page.url())) return;
    if (["error", "warning"].includes(message.type()) && !isRefusal(message, refusals)) {
      problems.push(`console at ${page.url()}: ${message.text()}`);
    }
  });
  page.on("pageerror", (error) => {
    if (isOurs(page.url())) problems.push(`script at ${page.url()}: ${error}`);
  });
  page.on("response", (response) => {
    if (!response.request().isNavigationRequest() || !isOurs(response.url())) return;
    const policy = response.headers()["content-security-policy"];
    if (policy !== policyOf(response.url())) problems.push(`CSP of ${response.url()}: ${policy}`);
  });
  try {
    const result = await body(page);
    assert.deepEqual(problems, []);
    return result;
  } finally {
    await within("leaving the pages", Promise.all(context.pages().map(leave)));
    await within("closing a browser context", context.close());
  }
}

/** Chromium may never close a page that reloads at that moment, as ours do when a request changes. */
async function leave(page) {
  let loading = true;
  while (loading) {
    loading = await page.goto("about:blank").then(() => false, isInterrupted);
  }
}

function isInterrupted(error) {
  return error.message.includes("interrupted by another navigation");
}

/** Chromium logs every page with an error status. */
function isRefusal(message, statuses) {
  return statuses.some((status) => message.text().includes(`responded with a status of ${status} `));
}
