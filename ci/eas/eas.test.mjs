// Scores as attestations of EAS: its SDK verifies them, and its contracts take them on a chain. ci/solidity.sh runs this.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { after, before, suite, test } from "node:test";
import { getAddress, JsonRpcProvider, keccak256, toUtf8Bytes } from "ethers";
import { artifact, startChain } from "../../examples/solidity/test/chain.mjs";
import { PROGRAM, startPyxis } from "../../examples/solidity/test/installation.mjs";

// The SDK's ES modules do not load in every Node.
const require = createRequire(import.meta.url);
const { EAS, SchemaEncoder, SchemaRegistry } = require("@ethereum-attestation-service/eas-sdk");
const compiled = (name) => require(`@ethereum-attestation-service/eas-contracts/artifacts/contracts/${name}.sol/${name}.json`);
const SCHEMA = "bool passing_score, uint8 score_decimals, uint128 scorer_id, uint32 score, uint32 threshold, "
  + "tuple(string provider, uint256 score)[] stamps";
const NOBODY = `0x${"00".repeat(20)}`;

suite("EAS", { skip: PROGRAM ? false : "PX_TEST_PYXIS is not set" }, () => {
  let installation, chain, provider, registry, eas, resolver, sdk, schema, onChain;

  before(async () => {
    chain = await startChain();
    const networks = { local: { chain_id: chain.id, rpc: [chain.url] } };
    installation = await startPyxis({ PX_NETWORKS: JSON.stringify(networks) });
    provider = new JsonRpcProvider(chain.url, undefined, { pollingInterval: 20 });
    registry = await chain.deploy(compiled("SchemaRegistry"));
    eas = await chain.deploy(compiled("EAS"), [registry.address]);
    const { scorer } = installation;
    const attester = chain.wallet(0).account.address;
    resolver = await chain.deploy(await artifact("ScoreResolver"), [eas.address, BigInt(scorer), attester, 3600n]);
    await registry.write("register", [SCHEMA, resolver.address, true]);
    schema = SchemaRegistry.getSchemaUID(SCHEMA, resolver.address, true);
    // It compares contracts as text.
    sdk = new EAS(getAddress(eas.address));
    sdk.connect(await provider.getSigner(0));
    onChain = (account, by = 0) => score(account, `&schema=${schema}`).then(({ transaction }) =>
      chain.wallet(by).sendTransaction({ ...transaction, value: BigInt(transaction.value) }).then((hash) => chain.reader.waitForTransactionReceipt({ hash })));
  });

  after(async () => {
    provider?.destroy();
    chain?.stop();
    await installation?.stop();
  });

  const score = (account, more = "") => {
    const query = `signed=eas&chain_id=${chain.id}&verifying_contract=${eas.address}${more}`;
    return installation.get(`/v2/stamps/${installation.scorer}/score/${account}?${query}`);
  };
  const values = (data) =>
    Object.fromEntries(new SchemaEncoder(SCHEMA).decodeData(data).map(({ name, value }) => [name, value.value]));

  test("the SDK verifies an off-chain attestation and refuses a changed one", async () => {
    const { passing, signer } = installation;
    const { attestation, signer: named } = await score(passing);
    assert.equal(named, signer);
    assert.equal(attestation.message.schema, SchemaRegistry.getSchemaUID(SCHEMA, NOBODY, true));
    const offchain = await sdk.getOffchain();
    assert.equal(offchain.verifyOffchainAttestationSignature(signer, attestation), true);
    assert.equal(offchain.verifyOffchainAttestationSignature(passing, attestation), false);
    const later = { ...attestation, message: { ...attestation.message, expirationTime: "9999999999" } };
    assert.equal(offchain.verifyOffchainAttestationSignature(signer, later), false);
    const copied = { ...attestation, uid: keccak256(toUtf8Bytes("another")) };
    assert.equal(offchain.verifyOffchainAttestationSignature(signer, copied), false);
  });

  test("the data says what the record says, with four decimals", async () => {
    const { passing, failing, scorer } = installation;
    for (const account of [passing, failing]) {
      const record = await score(account);
      const said = values(record.attestation.message.data);
      assert.equal(record.attestation.message.recipient, getAddress(account));
      const decimals = (text) => BigInt(text.replace(".", "")) / 10n;
      assert.deepEqual(
        [said.passing_score, said.score_decimals, said.scorer_id, said.score, said.threshold],
        [record.passing_score, 4n, BigInt(scorer), decimals(record.score), decimals(record.threshold)],
      );
      const counting = Object.values(record.stamps).filter(({ score: points }) => decimals(points) > 0n);
      assert.equal(said.stamps.length, counting.length);
    }
  });

  test("the command prints what the API answers", async () => {
    const { passing, pyxis, scorer } = installation;
    const asked = ["--scorer", `${scorer}`, "--chain-id", `${chain.id}`, "--contract", eas.address, "--schema", schema];
    const printed = JSON.parse(await pyxis("score", "eas", passing, ...asked));
    const answered = await score(passing, `&schema=${schema}`);
    assert.equal(printed.signer, answered.signer);
    assert.equal(printed.attestation.message.data, answered.attestation.message.data);
    assert.equal(printed.transaction.to, answered.transaction.to);
    const offchain = await sdk.getOffchain();
    assert.equal(offchain.verifyOffchainAttestationSignature(printed.signer, printed.attestation), true);
  });

  test("the contract takes the calldata that the command prints, and stores what it says", async () => {
    const { failing, pyxis, scorer } = installation;
    const asked = ["--scorer", `${scorer}`, "--chain-id", `${chain.id}`, "--contract", eas.address, "--schema", schema];
    const { attestation: { message }, transaction } = JSON.parse(await pyxis("score", "eas", failing, ...asked));
    assert.deepEqual([getAddress(transaction.to), BigInt(transaction.value)], [getAddress(eas.address), 0n]);
    const sender = chain.wallet(0);
    const hash = await sender.sendTransaction({ ...transaction, value: 0n });
    assert.equal((await chain.reader.waitForTransactionReceipt({ hash })).status, "success");
    const stored = await sdk.getAttestation(await resolver.read("latest", [failing]));
    assert.deepEqual(
      [stored.schema, stored.recipient, stored.attester, stored.revocable, stored.expirationTime, stored.data],
      [schema, getAddress(failing), getAddress(sender.account.address), true, BigInt(message.expirationTime), message.data],
    );
    const [said, record] = [values(stored.data), await score(failing)];
    assert.deepEqual([said.passing_score, said.score], [false, BigInt(record.score.replace(".", "")) / 10n]);
  });

  test("the contracts take the calldata, and the resolver answers for other contracts", async () => {
    const { passing, failing } = installation;
    assert.equal(await resolver.read("isHuman", [passing]), false);
    await assert.rejects(resolver.read("getScore", [passing]), /NoScore/);
    await onChain(passing);
    await onChain(failing);
    assert.deepEqual([await resolver.read("isHuman", [passing]), await resolver.read("isHuman", [failing])], [true, false]);
    const record = await score(passing);
    assert.equal(await resolver.read("getScore", [passing]), BigInt(record.score.replace(".", "")) / 10n);
    await assert.rejects(onChain(passing, 1), /InvalidAttestation|revert/);
  });

  test("an attestation of others counts as a Stamp, unless it is revoked or about someone else", async () => {
    const { base, pyxis } = installation;
    const text = "bool verifiedAccount";
    await registry.write("register", [text, NOBODY, true]);
    const verified = SchemaRegistry.getSchemaUID(text, NOBODY, true);
    const attester = chain.wallet(0).account.address;
    const settings = [`contract=${eas.address}`, `schema=${verified}`, `attester=${attester}`];
    await pyxis("onchain-stamp", "add", "Verified", "eas", ...settings, "--network", "local");
    const { key } = JSON.parse(await pyxis("api-key", "add", "app", "--write", "--json"));
    const value = new SchemaEncoder(text).encodeData([{ name: "verifiedAccount", value: true, type: "bool" }]);
    const attest = async (number) => {
      const recipient = chain.wallet(number).account.address;
      const data = { recipient, expirationTime: 0n, revocable: true, data: value };
      return (await sdk.attest({ schema: verified, data })).wait();
    };
    const issue = async (number, uid) => {
      const path = `/v2/stamps/${chain.wallet(number).account.address}/issue`;
      const answer = await fetch(new URL(path, base), {
        method: "POST",
        headers: { "X-API-KEY": key, "content-type": "application/json" },
        body: JSON.stringify({ stamps: [{ provider: "Verified", items: [uid] }] }),
      });
      assert.equal(answer.status, 200);
      const [item] = (await answer.json()).items;
      return item.error?.code ?? item.status;
    };
    const [good, revoked] = [await attest(5), await attest(6)];
    await (await sdk.revoke({ schema: verified, data: { uid: revoked } })).wait();
    assert.equal(await issue(5, good), "accepted");
    assert.equal(await issue(7, good), "condition_not_met");
    assert.equal(await issue(6, revoked), "condition_not_met");
    assert.equal(await issue(6, `0x${"11".repeat(32)}`), "condition_not_met");
  });

  test("a revoked or old attestation is no longer a human", async () => {
    const { passing } = installation;
    const uid = await resolver.read("latest", [passing]);
    const revocation = await sdk.revoke({ schema, data: { uid } });
    await revocation.wait();
    assert.equal(await resolver.read("isHuman", [passing]), false);
    await assert.rejects(resolver.read("getScore", [passing]), /Revoked/);
    await onChain(passing);
    assert.equal(await resolver.read("isHuman", [passing]), true);
    await chain.clock.increaseTime({ seconds: 3700 });
    await chain.clock.mine({ blocks: 1 });
    assert.equal(await resolver.read("isHuman", [passing]), false);
    await assert.rejects(resolver.read("getScore", [passing]), /Expired|TooOld/);
  });
});
