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

/**
 * The gate for proposals and votes: platforms whose Stamps were valid at the proposal's block, and a score from a
 * threshold on.
 */
class PassportGate {
  /** `platforms` has the Stamps of each platform by its id, and `timeOf` the time of a block in milliseconds. */
  constructor({ url, apiKey, scorer, platforms, timeOf }) {
    Object.assign(this, { url, platforms, timeOf, scorer: String(scorer) });
    this.headers = { "Content-Type": "application/json", "X-API-Key": apiKey };
  }

  #ask(path, init) {
    return fetch(`${this.url}/registry/${path}`, { headers: this.headers, ...init });
  }

  async #hasPlatforms(author, operator, required, at) {
    if (required.length === 0) return true;
    const { items } = await (await this.#ask(`stamps/${author}`)).json();
    if (!items) throw new Error("Unknown error");
    const isValid = ({ issuanceDate, expirationDate }) => Date.parse(issuanceDate) <= at && at <= Date.parse(expirationDate);
    const names = items
      .map((item) => item.credential)
      .filter(isValid)
      .map((credential) => credential.credentialSubject.provider);
    const has = (platform) => {
      if (!this.platforms[platform]) throw new Error("Stamp not supported");
      return this.platforms[platform].some((name) => names.includes(name));
    };
    return operator === "AND" ? required.every(has) : operator === "OR" && required.some(has);
  }

  /** Evidence of a scorer of thresholds decides alone, by its own threshold; else the score does, by the space's. */
  #passes({ score, evidence }, threshold) {
    if (evidence?.type === "ThresholdScoreCheck") return Number(evidence.rawScore) > Number(evidence.threshold);
    return Number(score) >= threshold;
  }

  async #hasScore(author, threshold) {
    const body = JSON.stringify({ address: author, scorer_id: this.scorer });
    const submitted = await this.#ask("submit-passport", { method: "POST", body });
    if (!submitted.ok) throw new Error(`Scorer error: ${submitted.statusText}`);
    const first = await submitted.json();
    if (first.status === "DONE") return this.#passes(first, threshold);
    const read = await this.#ask(`score/${this.scorer}/${author}`);
    const record = await read.json();
    if (read.ok && record.status === "DONE") return this.#passes(record, threshold);
    throw new Error("Scorer error: no score");
  }

  async validate(author, height, { operator, stamps = [], scoreThreshold = 0 }) {
    if (stamps.length > 0 && (operator ?? "NONE") === "NONE") throw new Error("Operator is required");
    const hasPlatforms = await this.#hasPlatforms(author, operator, stamps, this.timeOf(height));
    if (scoreThreshold === 0) return hasPlatforms;
    return (await this.#hasScore(author, scoreThreshold)) && hasPlatforms;
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

/** Serves score requests. `passport` is the Pyxis that `passport-gated` asks, and what it knows itself. */
export async function startScoreServer(passport) {
  const gate = new PassportGate(passport);
  const server = createServer(async (request, response) => {
    try {
      const { method, params } = await readJson(request);
      const result = method === "validate"
        ? await gate.validate(params.author, params.snapshot, params.params)
        : await scores(params);
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
