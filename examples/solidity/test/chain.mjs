// An EVM node for the tests, and contracts on it.

import { spawn } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { createPublicClient, createTestClient, createWalletClient, http } from "viem";
import { mnemonicToAccount } from "viem/accounts";
import { foundry } from "viem/chains";

/** The program itself, not its launcher, so that it ends when it is told to. */
async function program() {
  if (process.env.PX_TEST_ANVIL) return process.env.PX_TEST_ANVIL;
  const modules = new URL("../node_modules/@foundry-rs/", import.meta.url);
  const found = (await readdir(modules)).find((name) => name.startsWith("anvil-"));
  if (!found) throw new Error("there is no anvil for this machine");
  return new URL(`${found}/bin/anvil`, modules).pathname;
}

export async function startChain() {
  const node = spawn(await program(), ["--port", "0", "--host", "127.0.0.1"], { stdio: ["ignore", "pipe", "ignore"] });
  const lines = createInterface({ input: node.stdout });
  let address;
  for await (const line of lines) {
    [, address] = /^Listening on (.*)$/.exec(line) ?? [];
    if (address) break;
  }
  node.stdout.resume();
  const transport = http(`http://${address}`);
  const chain = foundry;
  // The mnemonic of every development chain.
  const account = (addressIndex) =>
    mnemonicToAccount("test test test test test test test test test test test junk", { addressIndex });
  const reader = createPublicClient({ chain, transport, pollingInterval: 20 });
  const clock = createTestClient({ chain, transport, mode: "anvil" });
  const wallet = (number) => createWalletClient({ chain, transport, account: account(number) });

  /** Deploys a compiled contract and returns its functions: `read` and `write`. */
  async function deploy({ abi, bytecode }, args = [], by = wallet(0)) {
    const hash = await by.deployContract({ abi, bytecode, args });
    const { contractAddress } = await reader.waitForTransactionReceipt({ hash });
    return {
      address: contractAddress,
      abi,
      read: (functionName, args = []) => reader.readContract({ address: contractAddress, abi, functionName, args }),
      // A simulation first: it names the error of a call that reverts.
      write: async (functionName, args = [], from = wallet(0)) => {
        const call = { address: contractAddress, abi, functionName, args, account: from.account };
        const { request } = await reader.simulateContract(call);
        return reader.waitForTransactionReceipt({ hash: await from.writeContract(request) });
      },
    };
  }

  return { id: chain.id, url: `http://${address}`, reader, clock, wallet, deploy, stop: () => node.kill() };
}

export async function artifact(name) {
  return JSON.parse(await readFile(new URL(`../out/${name}.json`, import.meta.url), "utf8"));
}
