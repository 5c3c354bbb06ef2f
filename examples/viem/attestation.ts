// Gets a check that is signed for EVM contracts, and verifies the signature as a contract would. With RPC_URL
// and CONTRACT it also asks a contract on that chain, which has the function below.
//
//   npm ci
//   PYXIS_URL=http://localhost:8700 node attestation.ts 0x… gov-id optimism

import {
  type Address, createPublicClient, type Hex, http, isAddressEqual, parseAbi, recoverTypedDataAddress,
} from "viem";

interface Attested {
  isUnique: boolean;
  signature?: Hex;
  signer?: Address;
  domain?: { name: string; version: string; chainId: number };
  message?: { kind: string; recipient: Address; actionId: string; issuedAt: number; expiresAt: number };
}

const types = {
  Attestation: [
    { name: "kind", type: "string" },
    { name: "recipient", type: "address" },
    { name: "actionId", type: "uint256" },
    { name: "issuedAt", type: "uint64" },
    { name: "expiresAt", type: "uint64" },
  ],
} as const;

async function get<T>(path: string): Promise<T> {
  const answer = await fetch(new URL(path, process.env.PYXIS_URL), { signal: AbortSignal.timeout(60_000) });
  // Anything but 200 says nothing about the address: it must not be read as a no.
  if (!answer.ok) throw new Error(`${answer.status}: ${await answer.text()}`);
  return (await answer.json()) as T;
}

const [address, kind = "gov-id", network = "optimism"] = process.argv.slice(2);
if (!process.env.PYXIS_URL || !address) throw new Error("set PYXIS_URL and name an address");

const path = `/attestation/evm/${kind}/${network}?user=${address}&action-id=123456789`;
const { isUnique, signature, domain, message } = await get<Attested>(path);
if (!isUnique || !signature || !domain || !message) {
  console.log("no proof");
} else {
  const { keys } = await get<{ keys: { scheme: string; address?: Address; active: boolean }[] }>("/attestation/keys");
  const said = {
    ...message,
    actionId: BigInt(message.actionId),
    issuedAt: BigInt(message.issuedAt),
    expiresAt: BigInt(message.expiresAt),
  };
  const signer = await recoverTypedDataAddress({ domain, types, primaryType: "Attestation", message: said, signature });
  const known = keys.some((key) => key.active && key.address && isAddressEqual(key.address, signer));
  console.log(known ? `signed by ${signer}, until ${message.expiresAt}` : `signed by a stranger, ${signer}`);
  if (!known) process.exitCode = 1;

  const { RPC_URL: node, CONTRACT: contract } = process.env;
  if (node && contract) {
    const chain = createPublicClient({ transport: http(node) });
    const accepted = await chain.readContract({
      address: contract as Address,
      abi: parseAbi([
        "function check(string kind, address recipient, uint256 actionId, uint64 issuedAt, uint64 expiresAt, bytes signature) view returns (bool)",
      ]),
      functionName: "check",
      args: [said.kind, said.recipient, said.actionId, said.issuedAt, said.expiresAt, signature],
    });
    console.log(accepted ? "the contract accepts it" : "the contract rejects it");
    if (!accepted) process.exitCode = 1;
  }
}
