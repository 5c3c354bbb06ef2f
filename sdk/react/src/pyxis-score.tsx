"use client";

import { ResponseError } from "@pyxis/sdk";
import type { ReactNode } from "react";

import { describeScore, ENGLISH, type ScoreLabels } from "./labels.js";
import { type ScoreState, useScore, type UseScoreOptions } from "./use-score.js";

/** Props of {@link PyxisScore}. */
export interface PyxisScoreProps extends UseScoreOptions {
  address: string;
  /** Texts instead of the English ones. */
  labels?: Partial<ScoreLabels>;
  className?: string;
}

/** Shows if an address passes, with its points. Its look comes from `@pyxis/react/styles.css`, or from your own. */
export function PyxisScore({ address, labels, className, initialScore }: PyxisScoreProps): ReactNode {
  const texts = { ...ENGLISH, ...labels };
  const state = useScore(address, { initialScore });
  const name = nameState(state);
  const canRetry = state.error !== null && !isInvalid(state.error);
  return (
    <div className={className ? `pyxis-score ${className}` : "pyxis-score"} data-state={name} aria-busy={state.loading}>
      <p className="pyxis-score-text" role="status">
        {describeState(state, texts)}
      </p>
      {canRetry && (
        <button className="pyxis-score-refresh" type="button" onClick={state.refresh}>
          {texts.refresh}
        </button>
      )}
    </div>
  );
}

/** True if the address itself is refused. Reading a score has no other 400: a wrong scorer is 404 or 422. */
function isInvalid(error: Error): boolean {
  return error instanceof ResponseError && error.status === 400;
}

function nameState({ score, error }: ScoreState): "loading" | "passes" | "fails" | "invalid" | "error" {
  if (error) return isInvalid(error) ? "invalid" : "error";
  if (!score) return "loading";
  return score.passing_score ? "passes" : "fails";
}

function describeState({ score, error, loading }: ScoreState, texts: ScoreLabels): string {
  if (error && !loading) return isInvalid(error) ? texts.invalid : texts.error(error);
  return score ? describeScore(score, texts) : texts.loading;
}
