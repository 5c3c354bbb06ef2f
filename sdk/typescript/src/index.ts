export { compareDecimals } from "./decimal.js";
export {
  ConfigurationError, ConnectionError, type InvalidEntry, PyxisError, RequestError, ResponseError,
} from "./errors.js";
export {
  type ExplainOptions, isFailed, type ModelName, Pyxis, type PyxisOptions, type ScorerId, type SignedOptions,
  type TokenOptions, type TypedOptions,
} from "./pyxis.js";
export type { RetryOptions } from "./retry.js";
export type { CallOptions, ClientOptions } from "./transport.js";
export type {
  FailedScore, Hex, ModelScore, Platform, Score, ScoreEntry, ScoreKeys, ScoreMessage, ScoreTypedData, StampItem,
  StampOutcome, StampPage, StampScore, TokenKeys, TokenScore, TypedScore,
} from "./types.js";
