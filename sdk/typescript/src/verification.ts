import { repeatRead } from "./retry.js";
import { type Answer, fillPath, type PathValues, type Query, queryString, type Template } from "./routes.js";
import { type CallOptions, type ClientOptions, Transport } from "./transport.js";
import type { AttestationKey, EvmAttestation, IndexAnswer, VerificationResult } from "./types.js";

export type { CallOptions, ClientOptions } from "./transport.js";
export type { AttestationKey, EvmAttestation, IndexAnswer, VerificationResult } from "./types.js";

/** Action id that stands for uniqueness across all applications. The server assumes none, and neither does this. */
export const ANY_ACTION = "123456789";

/** Kind of proof of a unique person. */
export type ProofKind = "gov-id" | "epassport" | "phone" | "biometrics";

/** Options of a client of the checks. */
export interface VerificationOptions extends ClientOptions {
  /** Key, if the server requires one. */
  apiKey?: string | undefined;
}

/** Check of an address on a network. */
export interface CheckRequest extends CallOptions {
  address: string;
  network: string;
  /** Adds `reason` to the answer. */
  explain?: boolean;
}

/** Check of an address for one use. */
export interface UniquenessRequest extends CheckRequest {
  kind: ProofKind;
  /** Number of the use, from 1. {@link ANY_ACTION} stands for all uses together. */
  actionId: string | bigint;
}

/** Checks proofs of personhood. An answer that cannot be had is an error, never a no. */
export class Verification {
  readonly #transport: Transport;

  constructor(options: VerificationOptions) {
    const { apiKey: key } = options;
    this.#transport = new Transport(options, key === undefined ? null : { header: "x-api-key", option: "apiKey", key });
  }

  /** Checks that an address has a valid proof of one unique person for this action. */
  uniqueness({ address, network, kind, actionId, explain, signal }: UniquenessRequest): Promise<VerificationResult> {
    const query = { user: address, "action-id": String(actionId), explain };
    return this.#get("/sybil-resistance/{credential_type}/{network}", { credential_type: kind, network }, query, signal);
  }

  /** Checks that an address proves residence in the United States. */
  residence({ address, network, explain, signal }: CheckRequest): Promise<VerificationResult> {
    return this.#get("/residence/country/{country}/{network}", { country: "us", network }, { user: address, explain }, signal);
  }

  /** Checks clean hands of an address by the external index that the server is configured with. */
  cleanHands(address: string, { explain, signal }: CallOptions & { explain?: boolean } = {}): Promise<IndexAnswer> {
    return this.#get("/attestation/clean-hands/{address}", { address }, { explain }, signal);
  }

  /** Check that is signed for EVM contracts, as typed data (EIP-712) that is bound to chain and recipient. */
  attestation(request: Omit<UniquenessRequest, "kind"> & { kind: AttestedKind }): Promise<EvmAttestation> {
    const { address, network, kind, actionId, explain, signal } = request;
    const query = { user: address, "action-id": String(actionId), explain };
    return this.#get("/attestation/evm/{credential_type}/{network}", { credential_type: kind, network }, query, signal);
  }

  /** Keys that sign attestations, newest first. One that is not active signs no longer. */
  async attestationKeys({ signal }: CallOptions = {}): Promise<AttestationKey[]> {
    return (await this.#get("/attestation/keys", {}, {}, signal)).keys;
  }

  async #get<P extends Template>(
    template: P,
    values: PathValues<P>,
    query: Query,
    signal: AbortSignal | undefined,
  ): Promise<Answer<P, "get">> {
    const path = fillPath(template, values) + queryString(query);
    return this.#transport.json({ method: "GET", path, repeatable: repeatRead, signal });
  }
}

/** Kind of check that can be signed. */
export type AttestedKind = ProofKind | "residence-us" | "clean-hands";
