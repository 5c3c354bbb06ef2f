export { compareDecimals } from "./decimal.js";
export {
  ConfigurationError, ConnectionError, type InvalidEntry, PyxisError, RequestError, ResponseError,
} from "./errors.js";
export { type ExplainOptions, isFailed, type ModelName, Pyxis, type PyxisOptions, type ScorerId } from "./pyxis.js";
export type { RetryOptions } from "./retry.js";
export type { CallOptions, ClientOptions } from "./transport.js";
export type {
  FailedScore, ModelScore, Platform, Score, ScoreEntry, StampItem, StampOutcome, StampPage, StampScore,
} from "./types.js";
