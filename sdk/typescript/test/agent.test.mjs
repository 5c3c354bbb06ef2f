// An agent's requests and their approval, with a real server and its demo upstream.

import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";

import { Agent, ApprovalError, ResponseError, toResponse } from "@pyxis/sdk/agent";

import { Quickstart } from "../../support/quickstart.mjs";

suite("Agent", () => {
  let server;
  let agent;
  let target;
  const credential = "demo";

  before(async () => {
    server = await Quickstart.start();
    agent = new Agent({ url: server.url, agentKey: server.sample.agent_key });
    target = server.sample.demo_target;
  });
  after(() => server?.stop());

  const note = (text, more = {}) => ({
    credential,
    target,
    method: "POST",
    body: JSON.stringify({ note: text }),
    headers: { "content-type": "application/json" },
    reason: "déjà vu 🌍",
    ...more,
  });

  test("lists what it may use", async () => {
    const { services } = await agent.services();
    assert.deepEqual(services.map((service) => service.credential), ["demo"]);
  });

  test("reads at once, without ever seeing the secret", async () => {
    const { pending, response } = await agent.forward({ credential, target });
    assert.deepEqual([pending, response.status], [false, 200]);
    assert.equal((await response.json()).authorization, "Bearer [REDACTED:demo]");
  });

  test("waits for a person, who reads the reason, and gets the target's response", async () => {
    let paused;
    const options = {
      onPending: (request) => {
        paused = request;
        void server.decide(request.txn_id, "approve");
      },
    };
    const response = await agent.send(note("approved"), options);
    assert.equal(response.status, 200);
    assert.equal((await response.json()).body, JSON.stringify({ note: "approved" }));
    assert.match(paused.agent_hint, /must approve this POST/);
    const shown = await fetch(new URL(`/approvals/${paused.txn_id}`, server.url), {
      headers: { authorization: `Bearer ${server.sample.owner_session_token}` },
    });
    assert.equal((await shown.json()).reason, "déjà vu 🌍");
  });

  test("says that a person denied it, with their reason", async () => {
    const onPending = ({ txn_id: id }) => void server.decide(id, "deny", { reason: "not today" });
    await assert.rejects(agent.send(note("denied"), { onPending }), (error) => {
      assert.ok(error instanceof ApprovalError);
      assert.deepEqual([error.outcome.status, error.message], ["denied", "the request was denied: not today"]);
      return true;
    });
  });

  test("withdraws a request, which then counts as expired", async () => {
    const { pending, paused } = await agent.forward(note("withdrawn"));
    assert.equal(pending, true);
    assert.equal((await agent.outcome(paused.txn_id)).status, "pending");
    await agent.withdraw(paused.txn_id);
    assert.equal((await agent.waitForOutcome(paused.txn_id)).status, "expired");
    await assert.rejects(agent.withdraw(paused.txn_id), { status: 409 });
  });

  test("stops waiting when its caller aborts", async () => {
    const stop = new AbortController();
    const request = note("aborted", { signal: stop.signal });
    await assert.rejects(agent.send(request, { onPending: () => stop.abort(new Error("enough")) }), { message: "enough" });
  });

  test("sends one request for one idempotency key", async () => {
    const request = note("once", { idempotencyKey: "order-4711" });
    const first = await agent.forward(request);
    const second = await agent.forward(request);
    assert.equal(second.paused.txn_id, first.paused.txn_id);
    const other = agent.forward(note("other", { idempotencyKey: "order-4711" }));
    await assert.rejects(other, { status: 422, code: "idempotency_key_reused", attempts: 1 });
  });

  test("has the code, the request's id and the next step of a refusal", async () => {
    const refused = agent.forward({ credential, target: "http://127.0.0.2/" });
    await assert.rejects(refused, (error) => {
      assert.ok(error instanceof ResponseError);
      assert.deepEqual([error.status, error.code, error.title], [403, "host_not_allowed", "Forbidden"]);
      assert.match(error.requestId, /^[0-9a-f-]{36}$/);
      assert.ok(error.body.agent_action.length > 0);
      return true;
    });
    await assert.rejects(agent.outcome("01a219e8-5e7a-734d-8c1f-23f6c213b756"), { status: 404, code: "not_found" });
  });

  test("makes a response of what the server kept, byte for byte", async () => {
    const headers = [["x-name", "café"], ["x-latin", "café"]];
    const headers_base64 = [{ index: 1, name: "x-latin", value: "Y2Fm6Q==" }];
    const kept = { status: 201, headers, headers_base64, body: "AP8=", body_encoding: "base64", truncated: false };
    const response = toResponse(kept);
    assert.deepEqual([...new Uint8Array(await response.arrayBuffer())], [0, 255]);
    assert.deepEqual([response.headers.get("x-name"), response.headers.get("x-latin")], ["cafÃ©", "café"]);
    assert.equal((await toResponse({ ...kept, status: 204, body: "" }).text()), "");
  });
});
