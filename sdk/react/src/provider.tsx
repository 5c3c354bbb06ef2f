"use client";

import { createContext, type ReactNode, useContext, useMemo } from "react";

import { fromRoute, type ScoreSource } from "./source.js";

const SourceContext = createContext<ScoreSource | null>(null);

/** Props of {@link PyxisProvider}. */
export interface PyxisProviderProps {
  /** Route of your own server, such as `/api/score`. Server components can pass it, too. */
  route?: string;
  /** Source to use instead of a route. Make it once, outside of components: another one reads all scores again. */
  source?: ScoreSource;
  children?: ReactNode;
}

/** Names the place that the scores below it come from. */
export function PyxisProvider({ route, source, children }: PyxisProviderProps): ReactNode {
  const value = useMemo(() => source ?? (route === undefined ? null : fromRoute(route)), [route, source]);
  if (!value) throw new Error("PyxisProvider needs a route or a source");
  return <SourceContext.Provider value={value}>{children}</SourceContext.Provider>;
}

/** Source of the nearest provider. */
export function useScoreSource(): ScoreSource {
  const source = useContext(SourceContext);
  if (!source) throw new Error("useScore needs a PyxisProvider above it");
  return source;
}
