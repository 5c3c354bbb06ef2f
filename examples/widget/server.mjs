// A page with the widget, and the server that checks its result. No dependency.
//
//   PYXIS_URL, PYXIS_SCORER_ID, PYXIS_PUBLISHABLE_KEY   node server.mjs   →   http://localhost:3000
//   PORT names another port; the key then needs that origin.

import { createServer } from "node:http";
import { randomUUID, webcrypto } from "node:crypto";
import { pathToFileURL } from "node:url";

/** Seconds by which the clocks may differ. */
const SKEW = 30;

/** Content of a token's part, or an error. */
function decode(part) {
  try {
    return Object(JSON.parse(Buffer.from(part ?? "", "base64url")));
  } catch {
    throw new Error("not a signed score");
  }
}

/** Claims of a signed score, or an error that says what is wrong with it. */
export async function verify(token, { pyxis, scorer, origin, challenge }) {
  const [head, body, signature] = String(token).split(".");
  const [header, claims] = [decode(head), decode(body)];
  const { keys } = await (await fetch(`${pyxis}/.well-known/jwks.json`)).json();
  const jwk = keys.find((key) => key.kid === header.kid);
  if (!jwk || header.alg !== "ES256" || header.typ !== "pyxis-score+jwt") throw new Error("not a signed score");
  const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
  const key = await webcrypto.subtle.importKey("jwk", jwk, algorithm, false, ["verify"]);
  const given = Buffer.from(signature ?? "", "base64url");
  const signed = Buffer.from(`${head}.${body}`);
  if (!(await webcrypto.subtle.verify(algorithm, key, given, signed))) throw new Error("the signature is wrong");
  const expected = { iss: pyxis, aud: origin, nonce: challenge, scorer_id: Number(scorer) };
  for (const [claim, value] of Object.entries(expected)) {
    if (claims[claim] !== value) throw new Error(`${claim} is ${claims[claim]}, not ${value}`);
  }
  if (claims.exp < Date.now() / 1000 - SKEW) throw new Error("the result has expired");
  return claims;
}

/** The page. The challenge is fetched for each result, and used once. */
function page({ pyxis, scorer, key }) {
  return `<!doctype html>
<html lang="en">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>Members' area</title>
<h1>Members' area</h1>
<pyxis-passport server="${pyxis}" scorer="${scorer}" publishable-key="${key}"></pyxis-passport>
<p id="answer"></p>
<script type="module" crossorigin src="${pyxis}/assets/widget/v1/pyxis-passport.js"></script>
<script type="module" src="/page.js"></script>
`;
}

const SCRIPT = `const widget = document.querySelector("pyxis-passport");
widget.challenge = async () => (await fetch("/challenge", { method: "POST" })).text();
widget.addEventListener("pyxis-result", async ({ detail }) => {
  const answer = await fetch("/result", { method: "POST", body: detail.jwt ?? "" });
  document.querySelector("#answer").textContent = await answer.text();
});
`;

/** The application's server. `settings` has `pyxis`, `scorer`, `key` and the page's own `origin`. */
export function application(settings) {
  const open = new Set();
  const { pyxis } = settings;
  const policy = `default-src 'none'; script-src 'self' ${pyxis}; connect-src 'self' ${pyxis}`;
  return createServer(async (request, response) => {
    const send = (status, type, text) => {
      response.writeHead(status, { "Content-Type": type, "Content-Security-Policy": policy }).end(text);
    };
    const route = `${request.method} ${request.url}`;
    if (route === "GET /") return send(200, "text/html; charset=utf-8", page(settings));
    if (route === "GET /page.js") return send(200, "text/javascript", SCRIPT);
    if (route === "POST /challenge") {
      const challenge = randomUUID();
      open.add(challenge);
      setTimeout(() => open.delete(challenge), 300_000).unref();
      return send(200, "text/plain", challenge);
    }
    if (route !== "POST /result") return send(404, "text/plain", "not found");
    let token = "";
    for await (const chunk of request) if ((token += chunk).length > 8192) return send(413, "text/plain", "too long");
    try {
      const { nonce } = decode(token.split(".")[1]);
      // Used up first: a result is accepted once.
      if (!open.delete(nonce)) throw new Error("the challenge is unknown or was used");
      const claims = await verify(token, { ...settings, challenge: nonce });
      const address = `${claims.sub.slice(0, 6)}…${claims.sub.slice(-4)}`;
      const answer = claims.passing_score ? `Welcome, ${address}.` : `${address} does not pass yet.`;
      return send(claims.passing_score ? 200 : 403, "text/plain; charset=utf-8", answer);
    } catch (error) {
      return send(400, "text/plain", `Refused: ${error.message}`);
    }
  });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const { PYXIS_URL: url, PYXIS_SCORER_ID: scorer, PYXIS_PUBLISHABLE_KEY: key, PORT: port = "3000" } = process.env;
  if (!url || !scorer || !key) {
    console.error("Set PYXIS_URL, PYXIS_SCORER_ID and PYXIS_PUBLISHABLE_KEY.");
    process.exit(2);
  }
  const origin = `http://localhost:${port}`;
  const pyxis = new URL(url).origin;
  const server = application({ pyxis, scorer, key, origin });
  server.on("error", (error) => {
    console.error(error.code === "EADDRINUSE" ? `Port ${port} is taken. Set PORT to another one.` : error.message);
    process.exit(1);
  });
  server.listen(Number(port), "127.0.0.1", () => console.log(`open ${origin}/`));
}
