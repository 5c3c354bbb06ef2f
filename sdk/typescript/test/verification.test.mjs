// Checks of proofs, of a real server.

import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";

import { ResponseError } from "@pyxis/sdk";
import { ANY_ACTION, Verification } from "@pyxis/sdk/verification";

import { Quickstart } from "../../support/quickstart.mjs";

suite("Checks", () => {
  let server;
  let checks;
  let address;
  const network = "optimism";
  const kind = "gov-id";

  before(async () => {
    server = await Quickstart.start();
    checks = new Verification({ url: server.url });
    address = server.sample.proved_address;
  });
  after(() => server?.stop());

  test("has a unique person's proof with its expiry, and a no with its reason", async () => {
    const yes = await checks.uniqueness({ address, network, kind, actionId: ANY_ACTION });
    assert.equal(yes.result, true);
    assert.ok(yes.expirationDate > Date.now() / 1000);
    const no = await checks.uniqueness({ address, network, kind, actionId: 7n, explain: true });
    assert.deepEqual(no, { result: false, reason: "other_action" });
    assert.equal((await checks.residence({ address, network })).result, true);
    const [, stranger] = server.sample.sample_addresses;
    const unknown = await checks.residence({ address: stranger, network, explain: true });
    assert.deepEqual(unknown, { result: false, reason: "none" });
  });

  test("has a check that is signed, and the key that signed it", async () => {
    const signed = await checks.attestation({ address, network, kind, actionId: ANY_ACTION });
    assert.deepEqual([signed.isUnique, signed.domain.chainId], [true, 10]);
    const keys = await checks.attestationKeys();
    assert.ok(keys.some((key) => key.active && key.address === signed.signer));
  });

  test("takes no failure for a no", async () => {
    const refusals = [
      [() => checks.uniqueness({ address, network: "mars", kind, actionId: ANY_ACTION }), 400, "Unsupported network"],
      [() => checks.uniqueness({ address: "0x12", network, kind, actionId: ANY_ACTION }), 400, "Invalid user address"],
    ];
    for (const [call, status, detail] of refusals) {
      await assert.rejects(call, (error) => {
        assert.ok(error instanceof ResponseError);
        assert.deepEqual([error.status, error.detail], [status, detail]);
        return true;
      });
    }
    const quick = new Verification({ url: server.url, retry: { attempts: 1 } });
    await assert.rejects(quick.cleanHands(address), { status: 503, detail: "No attestation index is configured" });
  });
});
