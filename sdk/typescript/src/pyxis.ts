import { ResponseError } from "./errors.js";
import { repeatRead, repeatRefused } from "./retry.js";
import { type Answer, fillPath, type PathValues, type Query, queryString, type Template } from "./routes.js";
import { type CallOptions, type ClientOptions, Transport } from "./transport.js";
import type {
  FailedScore, ModelScore, Platform, Score, ScoreEntry, ScoreKeys, StampItem, StampOutcome, StampPage, TokenKeys,
  TokenScore, TypedScore,
} from "./types.js";

/** Addresses in one request for scores, by the API's limit. */
const BATCH_MAX = 1000;

/** Options of a client of scores. */
export interface PyxisOptions extends ClientOptions {
  /** API key, as `pyxis api-key add` printed it. A variable that is not set is refused. */
  apiKey: string | undefined;
}

/** Number of a scorer. */
export type ScorerId = number | string;

/** Name of a model. */
export type ModelName =
  | "aggregate" | "ethereum_activity" | "nft" | "arbitrum" | "base" | "optimism" | "polygon" | "zksync";

/** Options of a call that can explain its answer. */
export interface ExplainOptions extends CallOptions {
  explain?: boolean;
}

/** Options of a signed score. */
export interface SignedOptions extends CallOptions {
  /** Text that the verifier made up, 1 to 256 printable ASCII characters. The score is then signed now, for this text. */
  challenge?: string | undefined;
}

/** Options of a score that is signed as a token. */
export interface TokenOptions extends SignedOptions {
  /** Recipient of the token (`aud`). The server takes it with a challenge only. */
  audience?: string | undefined;
}

/** Options of a score that is signed as typed data. A contract accepts only its own chain and address. */
export interface TypedOptions extends SignedOptions {
  chainId?: number | undefined;
  /** Address of the contract, with `chainId`. */
  verifyingContract?: string | undefined;
}

/** Reads scores and Stamps of addresses, and stores Stamps with a key that may write. */
export class Pyxis {
  readonly #transport: Transport;

  constructor(options: PyxisOptions) {
    this.#transport = new Transport(options, { header: "x-api-key", option: "apiKey", key: options.apiKey });
  }

  /** Latest score of an address. Take `passing_score`, or compare `score` as a decimal. */
  score(scorerId: ScorerId, address: string, { explain, signal }: ExplainOptions = {}): Promise<Score> {
    const values = { scorer_id: scorerId, address };
    return this.#get("/v2/stamps/{scorer_id}/score/{address}", values, { explain }, signal);
  }

  /**
   * Latest score of an address, signed for others: as a token (`jwt`) for programs, or as typed data (`eip712`) for
   * contracts.
   */
  signedScore(scorerId: ScorerId, address: string, form: "jwt", options?: TokenOptions): Promise<TokenScore>;
  signedScore(scorerId: ScorerId, address: string, form: "eip712", options?: TypedOptions): Promise<TypedScore>;
  async signedScore(
    scorerId: ScorerId,
    address: string,
    form: "jwt" | "eip712",
    options: TokenOptions & TypedOptions = {},
  ): Promise<TokenScore | TypedScore> {
    const { challenge, audience, chainId, verifyingContract, signal } = options;
    if (audience !== undefined && challenge === undefined) {
      throw new TypeError("audience needs a challenge: only a score that answers one names its recipient");
    }
    const query = queryString({ signed: form, chain_id: chainId, verifying_contract: verifyingContract });
    const path = fillPath("/v2/stamps/{scorer_id}/score/{address}", { scorer_id: scorerId, address }) + query;
    const body = challenge === undefined ? undefined : JSON.stringify({ challenge, audience });
    const asked = body === undefined ? { method: "GET" } : { method: "POST", headers: JSON_BODY, body };
    // Signing changes nothing, so it is a read in either way.
    const members = form === "jwt" ? ["jwt"] : ["signature", "signer", "typed_data"];
    const isSigned = (record: TokenScore | TypedScore) => members.every((name) => name in Object(record));
    return this.#transport.json({ ...asked, path, repeatable: repeatRead, signal }, isSigned);
  }

  /** Public keys that sign scores, with the issuer of tokens. They may be kept for five minutes. */
  scoreKeys({ signal }: CallOptions = {}): Promise<ScoreKeys> {
    return this.#get("/.well-known/pyxis-score-keys", {}, {}, signal);
  }

  /** Public keys of tokens, as a JSON Web Key Set (RFC 7517). They may be kept for five minutes. */
  tokenKeys({ signal }: CallOptions = {}): Promise<TokenKeys> {
    return this.#get("/.well-known/jwks.json", {}, {}, signal);
  }

  /** Scores of any number of addresses, in their order. 1,000 of them take one request. One bad address refuses all. */
  async *scores(
    scorerId: ScorerId,
    addresses: Iterable<string> | AsyncIterable<string>,
    { batchSize = BATCH_MAX, signal }: CallOptions & { batchSize?: number } = {},
  ): AsyncGenerator<Score, void> {
    let done = 0;
    for await (const batch of batches(addresses, Math.min(batchSize, BATCH_MAX))) {
      const items = await this.#batch(scorerId, batch, true, signal).catch((error) => {
        throw moveIndexes(error, done);
      });
      for (const item of items) {
        if (isFailed(item)) throw new TypeError(`no score of ${item.address}: ${item.error.detail}`);
        yield item;
      }
      done += batch.length;
    }
  }

  /** As `scores`, but an entry that is not an address is an item with an `error`, and the others have their scores. */
  async *scoreEntries(
    scorerId: ScorerId,
    addresses: Iterable<string> | AsyncIterable<string>,
    { batchSize = BATCH_MAX, signal }: CallOptions & { batchSize?: number } = {},
  ): AsyncGenerator<ScoreEntry, void> {
    let done = 0;
    for await (const batch of batches(addresses, Math.min(batchSize, BATCH_MAX))) {
      for (const item of await this.#batch(scorerId, batch, false, signal)) {
        if (isFailed(item)) item.error.index += done;
        yield item;
      }
      done += batch.length;
    }
  }

  /** Score that was returned last before a moment, or null. For keys that are approved for history. */
  async history(scorerId: ScorerId, address: string, before: Date | string, { signal }: CallOptions = {}): Promise<Score | null> {
    const created_at = typeof before === "string" ? before : before.toISOString();
    const values = { scorer_id: scorerId, address };
    const { items } = await this.#get("/v2/stamps/{scorer_id}/score/{address}/history", values, { created_at }, signal);
    return items[0] ?? null;
  }

  /** Stamps of an address, newest first. Further pages are read while the caller iterates. */
  async *stamps(
    address: string,
    { includeMetadata, pageSize, signal }: CallOptions & { includeMetadata?: boolean; pageSize?: number } = {},
  ): AsyncGenerator<StampItem, void> {
    let token: string | undefined;
    do {
      const page: StampPage = await this.stampPage(address, { includeMetadata, limit: pageSize, token, signal });
      yield* page.items;
      token = page.next ?? undefined;
    } while (token);
  }

  /** One page of the Stamps of an address: the first, or that of a token. */
  stampPage(
    address: string,
    options: CallOptions & {
      includeMetadata?: boolean | undefined;
      /** Stamps on the page, 1 to 1000 [default: 1000]. */
      limit?: number | undefined;
      /** `next` or `prev` of another page. */
      token?: string | undefined;
    } = {},
  ): Promise<StampPage> {
    const { includeMetadata: include_metadata, limit, token, signal } = options;
    return this.#get("/v2/stamps/{address}", { address }, { include_metadata, limit, token }, signal);
  }

  /** Stores verifiable credentials of an address, at most 200, with an outcome for each. Safe to repeat. */
  async addStamps(address: string, credentials: readonly object[], { signal }: CallOptions = {}): Promise<StampOutcome[]> {
    const path = fillPath("/v2/stamps/{address}", { address });
    const call = { method: "POST", path, headers: JSON_BODY, body: JSON.stringify(credentials), repeatable: repeatRead, signal };
    return (await this.#transport.json<Answer<"/v2/stamps/{address}", "post">>(call)).items;
  }

  /** Removes Stamps for their holder, and returns their number. */
  async removeStamps(address: string, providers: readonly string[], { signal }: CallOptions = {}): Promise<number> {
    const path = fillPath("/v2/stamps/{address}", { address }) + queryString({ provider: providers });
    const call = { method: "DELETE", path, repeatable: repeatRefused, signal };
    return (await this.#transport.json<Answer<"/v2/stamps/{address}", "delete">>(call)).removed;
  }

  /** Catalogue of all Stamps. */
  catalogue({ signal }: CallOptions = {}): Promise<Platform[]> {
    return this.#get("/v2/stamps/metadata", {}, {}, signal);
  }

  /** Score of any wallet by a model, the aggregate unless named. */
  modelScore(address: string, options: ExplainOptions & { model?: ModelName } = {}): Promise<ModelScore> {
    const { model, explain, signal } = options;
    return this.#get("/v2/models/score/{address}", { address }, { model, explain }, signal);
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

  async #batch(
    scorerId: ScorerId,
    addresses: string[],
    strict: boolean,
    signal: AbortSignal | undefined,
  ): Promise<ScoreEntry[]> {
    const query = queryString({ strict: strict || undefined });
    const path = fillPath("/v2/stamps/{scorer_id}/scores", { scorer_id: scorerId }) + query;
    const body = JSON.stringify({ addresses });
    const call = { method: "POST", path, headers: JSON_BODY, body, repeatable: repeatRead, signal };
    return (await this.#transport.json<Answer<"/v2/stamps/{scorer_id}/scores", "post">>(call)).items;
  }
}

/** True of an item of a batch that has no score. */
export function isFailed(item: ScoreEntry): item is FailedScore {
  return typeof item.error === "object" && item.error !== null;
}

const JSON_BODY = new Headers({ "content-type": "application/json" });

async function* batches<T>(items: Iterable<T> | AsyncIterable<T>, size: number): AsyncGenerator<T[], void> {
  if (!(size >= 1)) throw new RangeError(`batchSize must be 1 to ${BATCH_MAX}, not ${size}`);
  let batch: T[] = [];
  for await (const item of items) {
    if (batch.push(item) < size) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/** Counts the refused entries of a batch from the start of the whole list. */
function moveIndexes(error: unknown, offset: number): unknown {
  if (error instanceof ResponseError) for (const entry of error.invalid) entry.index += offset;
  return error;
}
