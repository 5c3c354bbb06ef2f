// A real OAuth 2.0 server on loopback, with people who sign in and consent, and two resources that look at
// access tokens: its own `/me`, and `/robots` for clients without a person.

import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";

import Provider from "oidc-provider";

/** Everything else outlives the tests. */
const HOURS = { AuthorizationCode: 60, Grant: 3600, IdToken: 3600, Interaction: 3600, RefreshToken: 3600, Session: 3600 };
/** Shorter than the time for which a token must still be good: every request needs a new one. */
const LIFE = 20;
export const CLIENT_SECRET = "cs-canary-4kQ9-Lm2Z-8xWe";

export class OAuthServer {
  #server;
  #provider;
  #grants = [];
  /** Grant types of the tokens that were given out, in order. */
  given = [];
  /** Refresh tokens that were used up. */
  consumed = 0;
  /** Seconds for which access tokens are good. */
  life = LIFE;

  static async start(redirectUri) {
    const oauth = new OAuthServer();
    oauth.#server = createServer((request, response) => oauth.#serve(request, response));
    oauth.#server.listen(0, "127.0.0.1");
    await once(oauth.#server, "listening");
    oauth.#provider = new Provider(oauth.url(""), oauth.#configuration(redirectUri));
    oauth.#provider.on("grant.success", (context) => oauth.given.push(context.oidc.params.grant_type));
    oauth.#provider.on("refresh_token.consumed", () => (oauth.consumed += 1));
    return oauth;
  }

  #configuration(redirectUri) {
    const key = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ format: "jwk" });
    return {
      clients: [
        {
          client_id: "pyxis",
          client_secret: CLIENT_SECRET,
          grant_types: ["authorization_code", "refresh_token"],
          redirect_uris: [redirectUri],
        },
        {
          client_id: "robot",
          client_secret: CLIENT_SECRET,
          grant_types: ["client_credentials"],
          redirect_uris: [],
          response_types: [],
          scope: "count",
        },
      ],
      scopes: ["openid", "offline_access", "count"],
      features: { devInteractions: { enabled: false }, clientCredentials: { enabled: true } },
      findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
      interactions: { url: (_context, interaction) => `/interaction/${interaction.uid}` },
      issueRefreshToken: (_context, client) => client.grantTypeAllowed("refresh_token"),
      rotateRefreshToken: () => true,
      pkce: { required: () => true },
      ttl: { ...HOURS, AccessToken: () => this.life, ClientCredentials: () => this.life },
      jwks: { keys: [{ ...key, use: "sig", alg: "RS256", kid: "test" }] },
      cookies: { keys: ["a key for the cookies of a test"] },
    };
  }

  get host() {
    return `127.0.0.1:${this.#server.address().port}`;
  }

  url(path) {
    return `http://${this.host}${path}`;
  }

  /** The person takes back what they consented to. */
  async withdrawConsent() {
    for (const id of this.#grants.splice(0)) {
      await this.#provider.RefreshToken.revokeByGrantId(id);
      await this.#provider.AccessToken.revokeByGrantId(id);
      await (await this.#provider.Grant.find(id))?.destroy();
    }
  }

  async #serve(request, response) {
    try {
      if (request.url.startsWith("/interaction/")) await this.#interaction(request, response);
      else if (request.url === "/robots") await this.#robots(request, response);
      else this.#provider.callback()(request, response);
    } catch (error) {
      response.writeHead(500).end(String(error));
    }
  }

  /** Response to a request with a client's own token. */
  async #robots(request, response) {
    const token = (request.headers.authorization ?? "").replace("Bearer ", "");
    const found = await this.#provider.ClientCredentials.find(token);
    response.setHeader("content-type", "application/json");
    if (!found?.isValid) return response.writeHead(401).end(`{"error":"invalid_token"}`);
    response.end(JSON.stringify({ client: found.clientId, scope: found.scope }));
  }

  /** Pages for signing in and for consent. */
  async #interaction(request, response) {
    const details = await this.#provider.interactionDetails(request, response);
    if (request.method === "GET") {
      const buttons = details.prompt.name === "login" ? ["Sign in"] : ["Allow", "Refuse"];
      const form = buttons.map((name) => `<button name="answer" value="${name}">${name}</button>`).join("");
      response.setHeader("content-type", "text/html");
      return response.end(`<!doctype html><title>Provider</title><form method="post">${form}</form>`);
    }
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const answer = new URLSearchParams(Buffer.concat(chunks).toString()).get("answer");
    const result = await this.#answered(details, answer);
    await this.#provider.interactionFinished(request, response, result, { mergeWithLastSubmission: true });
  }

  async #answered(details, answer) {
    if (answer === "Sign in") return { login: { accountId: "ana" } };
    if (answer === "Refuse") return { error: "access_denied", error_description: "not today" };
    const { accountId } = details.session;
    const grant = new this.#provider.Grant({ accountId, clientId: details.params.client_id });
    grant.addOIDCScope(details.params.scope);
    const grantId = await grant.save();
    this.#grants.push(grantId);
    return { consent: { grantId } };
  }

  stop() {
    this.#server?.closeAllConnections();
    this.#server?.close();
  }
}
