// Gets the score of an address. Needs nothing but fetch.

import { fileURLToPath } from "node:url";

const TIMEOUT_MS = 60_000; // without an answer, after which a request is given up
const ATTEMPTS = 5;
const FIRST_DELAY_MS = 500; // each delay is twice the one before
const AGAIN = new Set([429, 502, 503, 504]);

export interface StampEntry {
  /** Decimal number with five decimals. */
  score: string;
  dedup: boolean;
  expiration_date: string;
}

export interface ScoreRecord {
  address: string;
  /** Decimal number with five decimals. */
  score: string;
  passing_score: boolean;
  last_score_timestamp: string;
  expiration_timestamp: string | null;
  threshold: string;
  error: string | null;
  stamps: Record<string, StampEntry>;
}

export interface Client {
  baseUrl: string;
  apiKey: string;
  timeoutMs?: number;
}

/** The answer was a refusal, or there was none. */
export class ScoringError extends Error {}

export async function getScore(client: Client, scorerId: string, address: string): Promise<ScoreRecord> {
  const url = new URL(`/v2/stamps/${scorerId}/score/${address}`, client.baseUrl);
  let problem = "";
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    // A little more, so that many clients do not come back together.
    let pause = FIRST_DELAY_MS * 2 ** (attempt - 1) * (1 + Math.random() / 4);
    try {
      const signal = AbortSignal.timeout(client.timeoutMs ?? TIMEOUT_MS);
      const response = await fetch(url, { headers: { "X-API-KEY": client.apiKey }, signal });
      if (response.ok) return (await response.json()) as ScoreRecord;
      problem = `${response.status}: ${await response.text()}`;
      if (!AGAIN.has(response.status)) throw new ScoringError(problem);
      pause = Math.max(pause, 1000 * Number(response.headers.get("Retry-After") ?? 0));
    } catch (error) {
      if (error instanceof ScoringError) throw error;
      problem = String(error); // no connection, or no answer in time
    }
    if (attempt < ATTEMPTS) await new Promise((resolve) => setTimeout(resolve, pause));
  }
  throw new ScoringError(`given up after ${ATTEMPTS} attempts: ${problem}`);
}

async function main(): Promise<void> {
  const { PYXIS_URL, PYXIS_API_KEY, PYXIS_SCORER_ID, PYXIS_TIMEOUT_SECONDS } = process.env;
  const address = process.argv[2];
  if (!PYXIS_URL || !PYXIS_API_KEY || !PYXIS_SCORER_ID || !address) {
    throw new ScoringError("set PYXIS_URL, PYXIS_API_KEY and PYXIS_SCORER_ID, and name an address");
  }
  const timeoutMs = PYXIS_TIMEOUT_SECONDS ? 1000 * Number(PYXIS_TIMEOUT_SECONDS) : undefined;
  const record = await getScore({ baseUrl: PYXIS_URL, apiKey: PYXIS_API_KEY, timeoutMs }, PYXIS_SCORER_ID, address);
  console.log(record.score, record.passing_score ? "passes" : "does not pass");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  main().catch((error: Error) => {
    console.error(error.message);
    process.exitCode = 1;
  });
}
