// The use of the package that every runtime makes. The classes are arguments, because an edge runtime names modules
// differently.

/** Reads, iterates, fails, gives up and is aborted. Returns what it saw. */
export async function visit({ Pyxis, Verification }, { url, apiKey, address, silentUrl }) {
  const pyxis = new Pyxis({ url, apiKey });
  const { score, passing_score } = await pyxis.score(1, address);
  const names = [];
  for await (const { credential } of pyxis.stamps(address, { pageSize: 4 })) names.push(credential.credentialSubject.provider);
  const batch = [];
  for await (const record of pyxis.scores(1, [address, `0x${"0".repeat(40)}`])) batch.push(record.score);
  const check = { address, network: "optimism", kind: "gov-id", actionId: 123456789n };
  const silent = new Pyxis({ url: silentUrl, apiKey, timeoutMs: 100, retry: { attempts: 2, firstDelayMs: 1 } });
  const { result } = await new Verification({ url }).uniqueness(check);
  return {
    score,
    passing_score,
    stamps: names.length,
    batch,
    unique: result,
    refused: await failure(() => pyxis.score(77, address)),
    unauthorized: await failure(() => new Pyxis({ url, apiKey: "wrong" }).score(1, address)),
    silent: await failure(() => silent.catalogue()),
    aborted: await failure(() => pyxis.catalogue({ signal: AbortSignal.abort() })),
    insecure: await failure(() => new Pyxis({ url: "http://pyxis.example.com", apiKey })),
  };
}

async function failure(call) {
  try {
    await call();
    return "no failure";
  } catch ({ name, status, attempts, timedOut }) {
    return JSON.parse(JSON.stringify({ name, status, attempts, timedOut })); // without what is undefined
  }
}
