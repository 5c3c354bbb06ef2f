"use client";

import type { Score } from "@pyxis/sdk";
import { useCallback, useEffect, useState } from "react";


import { useScoreSource } from "./provider.js";
import type { ScoreSource } from "./source.js";

/** State of a score. At most one of `score` and `error` is set: after a failure, the score before it is gone. */
export interface ScoreState {
  score: Score | null;
  error: Error | null;
  /** True while a score is read, also again. */
  loading: boolean;
  /** Reads the score again. */
  refresh: () => void;
}

/** Options of {@link useScore}. */
export interface UseScoreOptions {
  /** Score that the server already read, which is shown first instead of loading. */
  initialScore?: Score | null | undefined;
}

/** Last result, and what it is the result of. */
interface Result {
  source: ScoreSource;
  address: string;
  attempt: number;
  score: Score | null;
  error: Error | null;
}

/** Reads the score of an address, and again when the address changes. Without an address nothing is read. */
export function useScore(address: string | null | undefined, { initialScore }: UseScoreOptions = {}): ScoreState {
  const source = useScoreSource();
  const [attempt, setAttempt] = useState(0);
  const [result, setResult] = useState<Result | null>(() =>
    initialScore && address && isOf(initialScore, address) ? { source, address, attempt: 0, score: initialScore, error: null } : null,
  );
  const isCurrent = result !== null && result.source === source && result.address === address;
  const isDone = !address || (isCurrent && result.attempt === attempt);

  useEffect(() => {
    if (!address || isDone) return;
    const stop = new AbortController();
    const settle = (score: Score | null, error: Error | null): void => {
      if (!stop.signal.aborted) setResult({ source, address, attempt, score, error });
    };
    source(address, { signal: stop.signal }).then(
      (score) => settle(score, null),
      (error: unknown) => settle(null, error instanceof Error ? error : new Error(String(error))),
    );
    return () => stop.abort();
  }, [source, address, attempt, isDone]);

  const refresh = useCallback(() => setAttempt((count) => count + 1), []);
  return {
    score: isCurrent ? result.score : null,
    error: isCurrent ? result.error : null,
    loading: !isDone,
    refresh,
  };
}

function isOf(score: Score, address: string): boolean {
  return score.address.toLowerCase() === address.toLowerCase();
}
