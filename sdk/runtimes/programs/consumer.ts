// Uses of the packages as an application writes them. It is compiled, and never runs.

import { compareDecimals, ConnectionError, Pyxis, ResponseError, type Score } from "@pyxis/sdk";
import { Agent, ApprovalError, type Outcome } from "@pyxis/sdk/agent";
import { ANY_ACTION, Verification } from "@pyxis/sdk/verification";

const pyxis = new Pyxis({ url: new URL("https://pyxis.example.com"), apiKey: "key", retry: { jitter: (delay) => delay } });

/** A variable that may be unset needs no assertion: the constructor refuses it. */
export const fromVariables = (variables: { url?: string; key?: string }): Pyxis =>
  new Pyxis({ url: variables.url, apiKey: variables.key });

export async function use(address: `0x${string}`): Promise<boolean> {
  const score: Score = await pyxis.score(1, address, { explain: true });
  const margin: string | undefined = score.explain?.margin;
  for await (const { credential, metadata } of pyxis.stamps(address)) console.log(credential["issuer"], metadata?.platform, margin);
  for await (const { stamps } of pyxis.scores("1", [address])) console.log(stamps["Discord"]?.dedup);
  const before: Score | null = await pyxis.history(1, address, new Date());
  const model: number | undefined = (await pyxis.modelScore(address)).details.models["aggregate"]?.score;
  const { result } = await new Verification({ url: "https://pyxis.example.com" }).uniqueness({
    address, network: "optimism", kind: "gov-id", actionId: ANY_ACTION, signal: AbortSignal.timeout(1000),
  });
  return result && model !== undefined && before !== null && compareDecimals(score.score, "20") >= 0;
}

export async function act(): Promise<Outcome | Response | string> {
  const agent = new Agent({ url: "https://pyxis.example.com", agentKey: "key" });
  try {
    const request = { credential: "github", target: "https://api.github.com/user", method: "POST", body: new Uint8Array(1) };
    return await agent.send({ ...request, headers: { accept: "*/*" } }, { onPending: ({ approval_url }) => console.log(approval_url) });
  } catch (error) {
    if (error instanceof ApprovalError) return error.outcome;
    if (error instanceof ConnectionError) return String(error.timedOut);
    if (error instanceof ResponseError) return error.code ?? error.detail;
    throw error;
  }
}

// @ts-expect-error A kind of proof that does not exist.
void new Verification({ url: "" }).uniqueness({ address: "", network: "", kind: "gov", actionId: "1" });
// @ts-expect-error A model that does not exist.
void pyxis.modelScore("0x", { model: "other" });
// @ts-expect-error A key is required.
void new Pyxis({ url: "https://pyxis.example.com" });
