// Verifies scores that a Pyxis installation signed: typed data (EIP-712) as contracts do, and tokens (JWT). Copy what
// you need. As a program it asks for a score and verifies both:
//
//   npm ci && npm run build
//   PYXIS_URL=http://localhost:8700 PYXIS_API_KEY=px_api_… PYXIS_SCORER_ID=1 node out/verify.js 0x… \
//     [--challenge TEXT] [--audience TEXT] [--contract CHAIN_ID:0x…] [--signed FILE]
//
// A file has a response to `?signed=jwt` or `eip712`, as somebody else hands it on. It is verified instead.

import { readFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { Pyxis, type TokenScore, type TypedScore } from "@pyxis/sdk";
import { createRemoteJWKSet, jwtVerify } from "jose";
import { type Address, isAddressEqual, recoverTypedDataAddress } from "viem";

/** Members that are signed for contracts, in the order of its hash. */
export const types = {
  Score: [
    { name: "scorer", type: "uint256" },
    { name: "account", type: "address" },
    { name: "score", type: "uint256" },
    { name: "threshold", type: "uint256" },
    { name: "passing", type: "bool" },
    { name: "computedAt", type: "uint64" },
    { name: "issuedAt", type: "uint64" },
    { name: "expiresAt", type: "uint64" },
    { name: "challenge", type: "string" },
  ],
} as const;

/** A response to `?signed=eip712`, as far as it is signed. */
export type SignedScore = Pick<TypedScore, "signature" | "typed_data">;

/** A score as a contract takes it, with five decimals. */
export interface Score {
  scorer: bigint; account: Address; score: bigint; threshold: bigint; passing: boolean;
  computedAt: bigint; issuedAt: bigint; expiresAt: bigint; challenge: string;
}

/** Expectations of a verifier. Take all of it from your own settings, nothing from the response. */
export interface Expected {
  signers: readonly Address[];
  scorer: number;
  account: Address;
  chainId?: number;
  verifyingContract?: Address;
  challenge?: string;
  /** Most seconds since the score was issued. */
  maxAge?: number;
  /** Unix seconds; the time of this machine by default. */
  now?: number;
}

/** The score of a response, as arguments of a contract. */
export function scoreOf({ typed_data: { message } }: Pick<TypedScore, "typed_data">): Score {
  return {
    ...message,
    scorer: BigInt(message.scorer),
    score: BigInt(message.score),
    threshold: BigInt(message.threshold),
    computedAt: BigInt(message.computedAt),
    issuedAt: BigInt(message.issuedAt),
    expiresAt: BigInt(message.expiresAt),
  };
}

/** The score, if a trusted key signed it for this verifier and it is still good; otherwise an error. */
export async function verifyScore(signed: SignedScore, expected: Expected): Promise<Score> {
  const { chainId, verifyingContract } = expected;
  // The domain is the verifier's own: one from the response would accept signatures for others.
  const domain = { name: "Pyxis Score", version: "1", chainId, verifyingContract };
  const score = scoreOf(signed);
  const { signature } = signed;
  const signer = await recoverTypedDataAddress({ domain, types, primaryType: "Score", message: score, signature });
  const now = BigInt(expected.now ?? Math.floor(Date.now() / 1000));
  if (!expected.signers.some((known) => isAddressEqual(known, signer))) throw new Error(`unknown signer ${signer}`);
  if (score.scorer !== BigInt(expected.scorer)) throw new Error(`of scorer ${score.scorer}`);
  if (!isAddressEqual(score.account, expected.account)) throw new Error(`of ${score.account}`);
  if (score.challenge !== (expected.challenge ?? "")) throw new Error("answers another challenge");
  if (now >= score.expiresAt) throw new Error("expired");
  if (expected.maxAge !== undefined && now > score.issuedAt + BigInt(expected.maxAge)) throw new Error("too old");
  return score;
}

/** Claims of a token. */
export interface TokenClaims {
  sub: Address; scorer_id: number; score: string; threshold: string; passing_score: boolean; computed_at: number;
}

/** The claims of a token, if the installation at `issuer` signed it for this verifier; otherwise an error. */
export async function verifyToken(
  token: string,
  expected: { issuer: string; scorer: number; account: Address; audience?: string; challenge?: string },
): Promise<TokenClaims> {
  const keys = createRemoteJWKSet(new URL("/.well-known/jwks.json", expected.issuer));
  const { payload } = await jwtVerify(token, keys, {
    issuer: expected.issuer,
    audience: expected.audience,
    algorithms: ["ES256"],
    typ: "pyxis-score+jwt",
    requiredClaims: ["exp", "sub", "scorer_id", "passing_score"],
  });
  const claims = payload as unknown as TokenClaims;
  if (claims.scorer_id !== expected.scorer) throw new Error(`of scorer ${claims.scorer_id}`);
  if (!isAddressEqual(claims.sub, expected.account)) throw new Error(`of ${claims.sub}`);
  // A library takes a token for anyone if it is told of no audience.
  if (payload.aud !== expected.audience) throw new Error("for another audience");
  if (payload.nonce !== expected.challenge) throw new Error("answers another challenge");
  return claims;
}

/** The chain and contract of `CHAIN_ID:0x…`; neither without it. */
function contractOf(text: string | undefined): Pick<Expected, "chainId" | "verifyingContract"> {
  if (text === undefined) return {};
  const [, chain, contract] = /^(\d+):(0x[0-9a-fA-F]{40})$/.exec(text) ?? [];
  if (!contract) throw new Error("write --contract CHAIN_ID:0x…");
  return { chainId: Number(chain), verifyingContract: contract as Address };
}

/** Output of the program. */
export async function verify(args: string[], env: NodeJS.ProcessEnv): Promise<string[]> {
  const text = { type: "string" } as const;
  const options = { challenge: text, audience: text, contract: text, signed: text };
  const { positionals, values } = parseArgs({ args, options, allowPositionals: true });
  const { PYXIS_URL: url, PYXIS_API_KEY: apiKey, PYXIS_SCORER_ID: id = "1" } = env;
  const account = positionals[0] as Address | undefined;
  if (!url || !apiKey) throw new Error("set PYXIS_URL and PYXIS_API_KEY");
  if (!account) throw new Error("name an address");
  const pyxis = new Pyxis({ url, apiKey });
  const { challenge, audience } = values;
  const { chainId, verifyingContract } = contractOf(values.contract);
  const { issuer, keys } = await pyxis.scoreKeys();
  const signed: Partial<TokenScore> & Partial<SignedScore> = values.signed
    ? JSON.parse(await readFile(values.signed, "utf8"))
    : {
      ...await pyxis.signedScore(id, account, "eip712", { chainId, verifyingContract, challenge }),
      jwt: (await pyxis.signedScore(id, account, "jwt", { challenge, audience })).jwt,
    };
  const { jwt, signature, typed_data } = signed;
  if (!jwt && !(signature && typed_data)) throw new Error("nothing is signed");
  const lines = [];
  const expected = { scorer: Number(id), account, ...(challenge !== undefined && { challenge }) };
  if (signature && typed_data) {
    const signers = keys.flatMap((key) => key.address as Address ?? []);
    const contract = chainId === undefined ? {} : { chainId, verifyingContract };
    const score = await verifyScore({ signature, typed_data }, { ...expected, ...contract, signers });
    lines.push(`signed for contracts: ${score.passing ? "passes" : "does not pass"}, until ${score.expiresAt}`);
  }
  if (jwt) {
    const claims = await verifyToken(jwt, { ...expected, issuer, ...(audience !== undefined && { audience }) });
    lines.push(`signed as a token: ${claims.score} of ${claims.threshold}`);
  }
  return lines;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  try {
    for (const line of await verify(process.argv.slice(2), process.env)) console.log(line);
  } catch (error) {
    console.error(String(error));
    process.exitCode = 1;
  }
}
