// A stand-in for Snapshot's score server on loopback. It sends Pyxis the requests of the `api`, `api-v2` and
// `passport-gated` integrations and reads the responses by their rules. Their code is in no package of npm.

import { once } from "node:events";
import { createServer } from "node:http";

import snapshot from "@snapshot-labs/snapshot.js";

const JSON_HEADERS = { accept: "application/json", "content-type": "application/json" };
const { getFormattedAddress } = snapshot.utils;

/** Voting power with decimals, from the integer of the response. */
function votes(score, decimals) {
  if (!Number.isInteger(score)) throw new Error(`${score} is not an integer`);
  return score / 10 ** Number(decimals);
}

function queryUrl(base, { network, snapshot: height, addresses }, more) {
  const query = [`network=${network}`, `snapshot=${height}`, `addresses=${addresses.join(",")}`];
  return `${base}?${[...query, ...(more ? [more] : [])].join("&")}`;
}

async function readScores(response) {
  const text = await response.text();
  const { score } = JSON.parse(text);
  if (!score) throw new Error(text);
  return score;
}

const STRATEGIES = {
  /** By GET; the response names the addresses. */
  async api(params, call) {
    const url = queryUrl(`${params.api}/${params.strategy}`, call, params.additionalParameters);
    const scores = await readScores(await fetch(url, { headers: JSON_HEADERS }));
    return scores.map(({ address, score }) => [address, votes(score, params.decimals)]);
  },

  /** By GET or POST; each address is looked up in the response as it was written. */
  async "api-v2"(params, call) {
    const { network, snapshot: height, addresses } = call;
    const posted = { method: "POST", body: JSON.stringify({ options: params, network, snapshot: height, addresses }) };
    const isPost = params.type === "api-post";
    const url = isPost ? params.url : queryUrl(params.url, call, params.additionalParameters);
    const headers = { ...JSON_HEADERS, "X-Snapshot-API-Strategy-Secret": "0".repeat(64) };
    const scores = await readScores(await fetch(url, { headers, ...(isPost ? posted : {}) }));
    const scoreOf = (address) => scores.find((entry) => entry.address === address)?.score ?? 0;
    return addresses.map((address) => [address, votes(scoreOf(address), params.decimals ?? 0)]);
  },
};

/** The gate for proposals: Stamps that are live, and a score above a threshold. */
class PassportGate {
  constructor({ url, apiKey, scorer }) {
    this.url = url;
    this.scorer = scorer;
    this.headers = { "content-type": "application/json", "X-API-Key": apiKey };
  }

  async #json(path, init) {
    const response = await fetch(`${this.url}/registry/${path}`, { headers: this.headers, ...init });
    return { ok: response.ok, body: await response.json() };
  }

  async #hasStamps(author, operator, required) {
    if (required.length === 0) return true;
    const { body } = await this.#json(`stamps/${author}`);
    if (!body.items) throw new Error(JSON.stringify(body));
    const now = Date.now();
    const isLive = (credential) => Date.parse(credential.issuanceDate) <= now && now <= Date.parse(credential.expirationDate);
    const live = body.items
      .map(({ credential }) => credential)
      .filter(isLive)
      .map(({ credentialSubject }) => credentialSubject.provider);
    const has = (name) => live.includes(name);
    return operator === "AND" ? required.every(has) : required.some(has);
  }

  async #score(author) {
    const found = await this.#json(`score/${this.scorer}/${author}`);
    if (found.ok) return found.body;
    const input = JSON.stringify({ address: author, scorer_id: this.scorer });
    const submitted = await this.#json("submit-passport", { method: "POST", body: input });
    if (!submitted.ok) throw new Error(JSON.stringify(submitted.body));
    return submitted.body;
  }

  async validate(author, { operator, stamps = [], scoreThreshold = 0 }) {
    if (!(await this.#hasStamps(author, operator, stamps))) return false;
    const { status, score } = await this.#score(author);
    return status === "DONE" && Number(score) > scoreThreshold;
  }
}

async function scores({ strategies, ...call }) {
  const ask = async ({ name, params }) => Object.fromEntries(
    (await STRATEGIES[name](params, call)).map(([address, score]) => [getFormattedAddress(address), score]),
  );
  return { state: "pending", scores: await Promise.all(strategies.map(ask)) };
}

async function readJson(request) {
  let text = "";
  for await (const chunk of request) text += chunk;
  return JSON.parse(text);
}

/** Serves score requests. `passport` is the Pyxis that `passport-gated` asks: `url`, `apiKey` and `scorer`. */
export async function startScoreServer(passport) {
  const gate = new PassportGate(passport);
  const server = createServer(async (request, response) => {
    try {
      const { method, params } = await readJson(request);
      const result = method === "validate" ? await gate.validate(params.author, params.params) : await scores(params);
      response.end(JSON.stringify({ jsonrpc: "2.0", result }));
    } catch (error) {
      response.statusCode = 500;
      const failure = { code: 500, message: "unauthorized", data: error.message };
      response.end(JSON.stringify({ jsonrpc: "2.0", error: failure }));
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}
