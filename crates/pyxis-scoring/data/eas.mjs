// Makes eas.json with ethers 6 and EAS' SDK: npm install @ethereum-attestation-service/eas-sdk ethers && node eas.mjs

import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { AbiCoder, Interface, keccak256, solidityPackedKeccak256, toBeHex, TypedDataEncoder, ZeroAddress, ZeroHash, zeroPadValue } from "ethers";

// Its ES modules do not load in every Node.
const sdk = createRequire(import.meta.url)("@ethereum-attestation-service/eas-sdk");
const { Offchain, OffchainAttestationVersion, SchemaEncoder } = sdk;
const SCHEMA = "bool passing_score, uint8 score_decimals, uint128 scorer_id, uint32 score, uint32 threshold, "
  + "tuple(string provider, uint256 score)[] stamps";
const recipient = `0x${"ab".repeat(20)}`;
const contract = `0x${"cc".repeat(20)}`;
const schema = solidityPackedKeccak256(["string", "address", "bool"], [SCHEMA, ZeroAddress, true]);
const [time, expirationTime] = [1767225900n, 1767229200n];
const stamps = [{ provider: "A", score: 125000n }, { provider: "B#1", score: 100000n }];
const data = AbiCoder.defaultAbiCoder().encode(
  ["bool", "uint8", "uint128", "uint32", "uint32", "tuple(string,uint256)[]"],
  [true, 4, 335, 225000, 200001, stamps.map(({ provider, score }) => [provider, score])],
);
// The SDK reads it as the schema says.
new SchemaEncoder(SCHEMA).decodeData(data);
const word = (number) => zeroPadValue(toBeHex(number), 32);
const salted = schema + [zeroPadValue(recipient, 32), word(time), word(expirationTime), data].map((part) => part.slice(2)).join("");
const salt = keccak256(salted);
const message = { version: 2, schema, recipient, time, expirationTime, revocable: false, refUID: ZeroHash, data, salt };
const uid = Offchain.getOffchainUID(OffchainAttestationVersion.Version2, schema, recipient, time, expirationTime, false, ZeroHash, data, salt);
const domain = { name: "EAS Attestation", version: "1.4.0", chainId: 10, verifyingContract: contract };
const types = {
  Attest: [
    { name: "version", type: "uint16" }, { name: "schema", type: "bytes32" }, { name: "recipient", type: "address" },
    { name: "time", type: "uint64" }, { name: "expirationTime", type: "uint64" }, { name: "revocable", type: "bool" },
    { name: "refUID", type: "bytes32" }, { name: "data", type: "bytes" }, { name: "salt", type: "bytes32" },
  ],
};
const hash = TypedDataEncoder.hash(domain, types, message);
const attest = new Interface([
  "function attest((bytes32 schema,(address recipient,uint64 expirationTime,bool revocable,bytes32 refUID,bytes data,uint256 value) data))",
]);
const request = { schema, data: { recipient, expirationTime, revocable: true, refUID: ZeroHash, data, value: 0n } };
const calldata = attest.encodeFunctionData("attest", [request]);
writeFileSync(new URL("eas.json", import.meta.url), `${JSON.stringify({ schema, data, uid, hash, calldata }, null, 2)}\n`);
