// Gets a check that is signed for EVM contracts, and verifies the signature as a contract would. With RPC_URL
// and CONTRACT it also asks a contract on that chain, which has the function below.
//
//   npm ci --prefix ../../sdk/typescript && npm run build --prefix ../../sdk/typescript && npm ci
//   PYXIS_URL=http://localhost:8700 node attestation.ts 0x… gov-id optimism

import { Verification } from "@pyxis/sdk/verification";
import {
  type Address, createPublicClient, type Hex, http, isAddressEqual, parseAbi, recoverTypedDataAddress,
} from "viem";

const types = {
  Attestation: [
    { name: "kind", type: "string" },
    { name: "recipient", type: "address" },
    { name: "actionId", type: "uint256" },
    { name: "issuedAt", type: "uint64" },
    { name: "expiresAt", type: "uint64" },
  ],
} as const;

const [address, kind = "gov-id", network = "optimism"] = process.argv.slice(2);
if (!process.env.PYXIS_URL || !address) throw new Error("set PYXIS_URL and name an address");

// Whatever says nothing about the address is thrown: it must not be read as a no.
const checks = new Verification({ url: process.env.PYXIS_URL });
const request = { address, network, kind: kind as "gov-id", actionId: 123456789n };
const { isUnique, signature, domain, message } = await checks.attestation(request);
if (!isUnique || !signature || !domain || !message) {
  console.log("no proof");
} else {
  const keys = await checks.attestationKeys();
  const said = {
    ...message,
    recipient: message.recipient as Address,
    actionId: BigInt(message.actionId),
    issuedAt: BigInt(message.issuedAt),
    expiresAt: BigInt(message.expiresAt),
  };
  const proof = signature as Hex;
  const typedData = { domain, types, primaryType: "Attestation", message: said } as const;
  const signer = await recoverTypedDataAddress({ ...typedData, signature: proof });
  const known = keys.some((key) => key.active && key.address && isAddressEqual(key.address as Address, signer));
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
      args: [said.kind, said.recipient, said.actionId, said.issuedAt, said.expiresAt, proof],
    });
    console.log(accepted ? "the contract accepts it" : "the contract rejects it");
    if (!accepted) process.exitCode = 1;
  }
}
