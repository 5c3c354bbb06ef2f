// Result of the visit in programs/visit.mjs, the same in every runtime.

export const SEEN = {
  score: "22.59800",
  passing_score: true,
  stamps: 6,
  batch: ["22.59800", "0.00000"],
  unique: true,
  refused: { name: "ResponseError", status: 404, attempts: 1 },
  unauthorized: { name: "ResponseError", status: 401, attempts: 1 },
  silent: { name: "ConnectionError", attempts: 2, timedOut: true },
  aborted: { name: "AbortError" },
  insecure: { name: "ConfigurationError" },
};
