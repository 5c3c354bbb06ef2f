import type { components } from "./openapi.js";

type Schemas = components["schemas"];

/** Score of an address in a scorer. `score` and `threshold` are decimal numbers as text, with five decimals. */
export type Score = Schemas["Score"];
/** Score with a token (JWT, ES256) that others verify without asking the server. */
export type TokenScore = Score & { jwt: string };
/** Score with a signature over typed data (EIP-712), for EVM contracts. */
export type TypedScore = Omit<Score, "typed_data"> & { signature: Hex; signer: Hex; typed_data: ScoreTypedData };
/** Bytes as `0x` and hex digits: an address, a signature. */
export type Hex = `0x${string}`;

/** Typed data of a score, as wallets and libraries take them. */
export interface ScoreTypedData {
  types: Record<string, { name: string; type: string }[]>;
  primaryType: "Score";
  /** The verifier's own chain and contract. A verifier fills them in itself, and takes nothing from here. */
  domain: { name: string; version: string; chainId?: number; verifyingContract?: Hex };
  message: ScoreMessage;
}

/** Members that are signed. `score` and `threshold` have five decimals: `"2259800"` is 22.598. */
export interface ScoreMessage {
  scorer: string;
  account: Hex;
  score: string;
  threshold: string;
  passing: boolean;
  /** Unix seconds, as the other times. */
  computedAt: number;
  issuedAt: number;
  expiresAt: number;
  /** Empty unless the request had one. */
  challenge: string;
}

/** Public keys that sign scores, with the issuer of the tokens. */
export type ScoreKeys = Schemas["PublishedScoreKeys"];
/** Public keys of tokens (RFC 7517), as libraries take them. */
export type TokenKeys = Schemas["JsonWebKeySet"];
/** Entry of a batch that has no score. Its `error` is an object; that of a score is null or a text. */
export type FailedScore = Schemas["FailedScore"];
/** Item of a batch. */
export type ScoreEntry = Score | FailedScore;
/** Contribution of one Stamp to a score. */
export type StampScore = Schemas["StampScore"];
/** Page of the Stamps of an address, with the tokens of its neighbors. */
export type StampPage = Schemas["StampPage"];
/** Stamp of an address: its credential and, on request, its entry in the catalogue. */
export type StampItem = Schemas["StampItem"];
/** Outcome of one credential that was added. */
export type StampOutcome = Schemas["StampOutcome"];
/** Entry of the catalogue: a place where an account or an activity is verified. */
export type Platform = Schemas["Platform"];
/** Score of a wallet by a model: -1 for too little data, or 0 (likely a Sybil) to 100 (likely human). */
export type ModelScore = Schemas["ModelScore"];
/** Answer of a verification check. */
export type VerificationResult = Schemas["VerificationResult"];
/** Answer of the external index of clean-hands attestations. */
export type IndexAnswer = Schemas["IndexAnswer"];
/** Check that is signed for EVM contracts. */
export type EvmAttestation = Schemas["EvmAttestation"];
/** Key that signs attestations, or signed them once. */
export type AttestationKey = Schemas["AttestationKey"];
/** Credentials that an agent may use. */
export type Services = Schemas["Services"];
/** Request that waits for approval, or was just approved. */
export type Paused = Schemas["Paused"];
/** State of a request that needed approval. */
export type Outcome = Schemas["Outcome"];
/** Response of a target, as it is kept for the agent. */
export type KeptResponse = Schemas["KeptResponse"];
