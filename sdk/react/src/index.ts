export type { ScoreLabels } from "./labels.js";
export { PyxisProvider, type PyxisProviderProps } from "./provider.js";
export { PyxisScore, type PyxisScoreProps } from "./pyxis-score.js";
export { fromPyxis, fromRoute, type ScoreSource } from "./source.js";
export { type ScoreState, useScore, type UseScoreOptions } from "./use-score.js";
