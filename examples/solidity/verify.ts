// Verifies scores that a Pyxis installation signed: typed data (EIP-712) as contracts do, and tokens (JWT). Copy what
// you need. As a program it asks for a score and verifies both:
//
//   npm ci && npm run build
//   PYXIS_URL=http://localhost:8700 PYXIS_API_KEY=px_api_… PYXIS_SCORER_ID=1 node out/verify.js 0x…

import { pathToFileURL } from "node:url";
import { createRemoteJWKSet, jwtVerify } from "jose";
import { type Address, type Hex, isAddressEqual, recoverTypedDataAddress } from "viem";

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
export interface SignedScore {
  signature: Hex;
  typed_data: {
    domain: { name: string; version: string; chainId?: number; verifyingContract?: Address };
    message: {
      scorer: string; account: Address; score: string; threshold: string; passing: boolean;
      computedAt: number; issuedAt: number; expiresAt: number; challenge: string;
    };
  };
}

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
export function scoreOf({ typed_data: { message } }: SignedScore): Score {
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
  if (payload.nonce !== expected.challenge) throw new Error("answers another challenge");
  return claims;
}

async function main(account: Address): Promise<void> {
  const { PYXIS_URL: url, PYXIS_API_KEY: key, PYXIS_SCORER_ID: id = "1" } = process.env;
  if (!url || !key) throw new Error("set PYXIS_URL and PYXIS_API_KEY");
  const get = async (path: string) => {
    const options = { headers: { "X-API-KEY": key }, signal: AbortSignal.timeout(60_000) };
    const answer = await fetch(new URL(path, url), options);
    if (!answer.ok) throw new Error(`${answer.status}: ${await answer.text()}`);
    return await answer.json();
  };
  const published = await get("/.well-known/pyxis-score-keys") as {
    issuer: string; keys: { address?: Address }[];
  };
  const signers = published.keys.flatMap((known) => known.address ?? []);
  const path = `/v2/stamps/${id}/score/${account}`;
  const score = await verifyScore(await get(`${path}?signed=eip712`), { signers, scorer: Number(id), account });
  console.log(`signed for contracts: ${score.passing ? "passes" : "does not pass"}, until ${score.expiresAt}`);
  const { jwt } = await get(`${path}?signed=jwt`);
  const claims = await verifyToken(jwt, { issuer: published.issuer, scorer: Number(id), account });
  console.log(`signed as a token: ${claims.score} of ${claims.threshold}`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const [account] = process.argv.slice(2);
  if (!account) throw new Error("name an address");
  await main(account as Address);
}
