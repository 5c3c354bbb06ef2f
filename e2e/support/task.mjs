// A task that the agent proposes.

import assert from "node:assert/strict";

import { within } from "./within.mjs";

/** Proposes a task that allows requests to some paths of the upstream, as many as `uses` says; the response. */
export async function proposeTask(world, purpose, uses) {
  const action = ([path, max_uses]) =>
    ({ credential: "billing-api", method: "POST", url: world.upstream.url(path), max_uses });
  const answer = await within("/agent/tasks", fetch(world.server.url("/agent/tasks"), {
    method: "POST",
    headers: { "X-PX-Key": world.server.bootstrap.agent_key, "Content-Type": "application/json" },
    body: JSON.stringify({ purpose, actions: Object.entries(uses).map(action), minutes: 120 }),
  }));
  const task = await answer.json();
  assert.equal(answer.status, 202, JSON.stringify(task));
  return task;
}
