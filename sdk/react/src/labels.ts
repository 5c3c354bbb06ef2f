import type { Score } from "@pyxis/sdk";

/** Texts of {@link PyxisScore}. */
export interface ScoreLabels {
  loading: string;
  passes: (score: string, threshold: string) => string;
  fails: (score: string, threshold: string) => string;
  /** For an address that the server refuses as malformed, or for its checksum. Reading again does not help. */
  invalid: string;
  error: (error: Error) => string;
  refresh: string;
}

/** English texts. */
export const ENGLISH: ScoreLabels = {
  loading: "Reading the score…",
  passes: (score, threshold) => `Passes: ${score} of ${threshold} points`,
  fails: (score, threshold) => `Does not pass: ${score} of ${threshold} points`,
  invalid: "Not a valid address. Enter 0x and 40 hexadecimal digits; mixed case must match the checksum.",
  error: () => "The score cannot be read now.",
  refresh: "Read again",
};

/** Text of a score. */
export function describeScore(score: Score, labels: ScoreLabels): string {
  const describe = score.passing_score ? labels.passes : labels.fails;
  return describe(trimDecimal(score.score), trimDecimal(score.threshold));
}

/** Decimal number without the zeros at its end. */
function trimDecimal(text: string): string {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}
