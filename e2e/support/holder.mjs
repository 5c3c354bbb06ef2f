// A page of an application on another origin, with the widget and a wallet, as a visitor's browser has it.

import { createServer } from "node:http";
import { once } from "node:events";
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";

const VIEM = createRequire(fileURLToPath(new URL("../../examples/viem/stamp.mjs", import.meta.url)));
const { privateKeyToAccount } = await import(pathToFileURL(VIEM.resolve("viem/accounts")).href);

/** A wallet's account, by a number. */
export function holder(number) {
  return privateKeyToAccount(`0x${number.toString(16).padStart(64, "0")}`);
}

/** An application's page. It serves `html(path)` with a strict policy. */
export class Site {
  #http;
  html = "";
  policy = "";

  static async start() {
    const site = new Site();
    site.#http = createServer((_, response) => {
      const headers = { "Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": site.policy };
      response.writeHead(200, headers).end(site.html);
    });
    site.#http.listen(0, "127.0.0.1");
    await once(site.#http, "listening");
    return site;
  }

  url(host = "localhost") {
    return `http://${host}:${this.#http.address().port}/`;
  }

  async stop() {
    this.#http.closeAllConnections();
    this.#http.close();
    await once(this.#http, "close");
  }
}

/** Runs in the page before its scripts: wallets that ask the test for their signatures. */
export function inject({ wallets, announce }) {
  const make = ({ name, address }) => {
    const listeners = new Set();
    const request = async ({ method, params }) => {
      const answer = await globalThis.askHolder(JSON.stringify({ name, method, params }));
      if (answer.error) throw Object.assign(new Error(answer.error.message), { code: answer.error.code });
      return answer.result;
    };
    return {
      address,
      request,
      on: (event, listener) => event === "accountsChanged" && listeners.add(listener),
      removeListener: (_, listener) => listeners.delete(listener),
      change: () => listeners.forEach((listener) => listener([])),
    };
  };
  const made = wallets.map((wallet) => ({ ...wallet, provider: make(wallet) }));
  globalThis.wallets = made;
  if (!announce) {
    globalThis.ethereum = made[0]?.provider;
    return;
  }
  globalThis.addEventListener("eip6963:requestProvider", () => {
    for (const { name, provider } of made) {
      const info = { uuid: name, name, icon: "data:,", rdns: "org.example" };
      globalThis.dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail: { info, provider } }));
    }
  });
}

/** Answers a wallet's requests. `on` changes the answer of a method: a value, or a function of the message. */
export function answers(account, on = {}) {
  return async (text) => {
    const { method, params } = JSON.parse(text);
    try {
      if (on[method]) return { result: await on[method](params) };
      if (method === "eth_requestAccounts") return { result: [account.address] };
      if (method === "eth_chainId") return { result: "0xa" };
      if (method === "personal_sign") return { result: await account.signMessage({ message: { raw: params[0] } }) };
      return { error: { code: 4200, message: `unsupported ${method}` } };
    } catch (error) {
      return { error: { code: error.code ?? -32603, message: error.message } };
    }
  };
}

/** A refusal as wallets make it. */
export function refuse(code, message = "User rejected the request.") {
  return () => {
    throw Object.assign(new Error(message), { code });
  };
}
