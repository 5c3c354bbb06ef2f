// Deploys the airdrop on a development chain and claims from it with a score that Pyxis signs.
//
//   npm ci && npm run build && npx anvil        # the chain, in a terminal of its own
//   node airdrop.mjs deploy
//   CONTRACT=0x… node airdrop.mjs claim 0x…
//
// Both need PYXIS_URL, PYXIS_API_KEY and PYXIS_SCORER_ID; RPC_URL is http://127.0.0.1:8545 unless set. On a real chain a
// wallet signs the claim; here the node acts as any account.

import { readFile } from "node:fs/promises";
import { ConnectionError, Pyxis } from "@pyxis/sdk";
import { createPublicClient, createTestClient, createWalletClient, http, parseEther } from "viem";
import { scoreOf } from "./out/verify.js";

const { PYXIS_URL: url, PYXIS_API_KEY: key, PYXIS_SCORER_ID: scorer = "1", CONTRACT: contract } = process.env;
const transport = http(process.env.RPC_URL ?? "http://127.0.0.1:8545");
const reader = createPublicClient({ transport, pollingInterval: 50 });
const node = createTestClient({ transport, mode: "anvil" });
const AMOUNT = 100n;

async function artifact(name) {
  return JSON.parse(await readFile(new URL(`out/${name}.json`, import.meta.url), "utf8"));
}

async function deploy(pyxis) {
  const { keys } = await pyxis.scoreKeys();
  // Trust the key that signs now; add the next one with setSigner before it signs.
  const now = new Date().toISOString();
  const signer = keys.find(({ address, signs_from: from }) => address && from <= now).address;
  const wallet = createWalletClient({ transport });
  const [account] = await wallet.getAddresses();
  const create = async (name, args) => {
    const hash = await wallet.deployContract({ ...await artifact(name), args, account, chain: null });
    return (await reader.waitForTransactionReceipt({ hash })).contractAddress;
  };
  const token = await create("Token", []);
  const airdrop = await create("Airdrop", [token, AMOUNT, BigInt(scorer), 3600n, signer, ""]);
  const { abi } = await artifact("Token");
  const mint = { address: token, abi, functionName: "mint", args: [airdrop, 1000n * AMOUNT], account, chain: null };
  await reader.waitForTransactionReceipt({ hash: await wallet.writeContract(mint) });
  console.log(`CONTRACT=${airdrop}`);
}

async function claim(pyxis, account) {
  const chainId = await reader.getChainId();
  const signed = await pyxis.signedScore(scorer, account, "eip712", { chainId, verifyingContract: contract });
  await node.impersonateAccount({ address: account });
  await node.setBalance({ address: account, value: parseEther("1") });
  const { abi } = await artifact("Airdrop");
  const call = { address: contract, abi, functionName: "claim", args: [scoreOf(signed), signed.signature], account };
  try {
    await reader.simulateContract(call);
  } catch (error) {
    const name = error.walk?.((cause) => cause.data?.errorName)?.data?.errorName;
    if (!name) throw error;
    console.log(`refused: ${name}`);
    process.exitCode = 1;
    return;
  }
  const hash = await createWalletClient({ transport }).writeContract({ ...call, chain: null });
  await reader.waitForTransactionReceipt({ hash });
  console.log(`paid ${AMOUNT} to ${account}`);
}

async function main([command, account]) {
  if (!url || !key) throw new Error("Set PYXIS_URL and PYXIS_API_KEY.");
  const pyxis = new Pyxis({ url, apiKey: key });
  if (command === "deploy") return deploy(pyxis);
  if (command !== "claim" || !account) throw new Error("Usage: node airdrop.mjs deploy | claim 0x…");
  if (!contract) throw new Error("Set CONTRACT to the address that `node airdrop.mjs deploy` printed.");
  return claim(pyxis, account);
}

/** One line: viem's own errors say more than a reader of a terminal needs. */
function describe(error) {
  const { url: failed, shortMessage, message } = error;
  if (shortMessage && failed) return `No answer from the chain at ${failed}. Does anvil run? RPC_URL names another one.`;
  if (error instanceof ConnectionError) return `No answer from Pyxis at ${url}.`;
  return shortMessage ?? message;
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  console.error(describe(error));
  process.exitCode = 1;
}
