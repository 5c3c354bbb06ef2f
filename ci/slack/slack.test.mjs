// Slack's own clients take the stand-in for Slack (`crates/pyxis-testkit/src/slack.rs`).

import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";

import { LogLevel, SocketModeClient } from "@slack/socket-mode";
import { WebClient } from "@slack/web-api";

import { StandIn, until } from "../stand-in.mjs";

const text = (words) => ({ type: "plain_text", text: words, emoji: false });
const button = (label, action) => ({ type: "button", text: text(label), action_id: action, value: "nonce" });
const blocks = (words, buttons) => [
  { type: "header", text: text("Approval needed") },
  { type: "section", text: text(words) },
  ...(buttons.length ? [{ type: "actions", elements: buttons }] : []),
];
const window = {
  type: "modal",
  callback_id: "reason",
  title: text("Deny request"),
  submit: text("Deny"),
  close: text("Cancel"),
  blocks: [{
    type: "input",
    block_id: "reason",
    label: text("Reason"),
    element: { type: "plain_text_input", action_id: "reason", multiline: true },
  }],
};
const error = (name) => (failure) => failure.data?.error === name;

suite("Slack's own clients", () => {
  let slack;
  let web;
  before(async () => {
    slack = await StandIn.start();
    web = new WebClient(slack.bot_token, { slackApiUrl: `${slack.base}/api/`, retryConfig: { retries: 0 } });
  });
  after(() => slack?.stop());

  const state = () => slack.do("state");
  const shown = async (ts) => (await state()).messages.find((message) => message.ts === ts);
  const post = (words, buttons = []) =>
    web.chat.postMessage({ channel: slack.channel, text: words, blocks: blocks(words, buttons) });

  test("sign in, and look at channels", async () => {
    assert.equal((await web.auth.test()).team_id, "T0TEAM");
    const info = await web.conversations.info({ channel: slack.channel });
    assert.deepEqual([info.channel.is_member, info.channel.is_archived], [true, false]);
    assert.equal((await web.conversations.info({ channel: slack.other_channel })).channel.is_member, false);
    await assert.rejects(web.conversations.info({ channel: "C0NONE" }), error("channel_not_found"));
    const stranger = new WebClient("xoxb-wrong", { slackApiUrl: `${slack.base}/api/` });
    await assert.rejects(stranger.auth.test(), error("invalid_auth"));
    await assert.rejects(web.apps.connections.open(), error("not_allowed_token_type"));
  });

  test("post, change and answer", async () => {
    const posted = await post("a &lt;b&gt; &amp; c", [button("Approve", "approve"), button("Deny", "deny")]);
    assert.equal(posted.channel, slack.channel);
    const first = await shown(posted.ts);
    assert.deepEqual([first.text, first.labels], ["Approval needed\na <b> & c", ["Approve", "Deny"]]);
    await web.chat.update({ channel: slack.channel, ts: posted.ts, text: "done", blocks: blocks("done", []) });
    const last = await shown(posted.ts);
    assert.deepEqual([last.text, last.labels, last.edits], ["Approval needed\ndone", [], 1]);
    const direct = await web.chat.postMessage({ channel: "U0ADA", text: "hello" });
    assert.equal(direct.channel, "D0ADA");
    await web.chat.postEphemeral({ channel: slack.channel, user: "U0ADA", text: "only you" });
    assert.deepEqual((await state()).ephemeral.at(-1), [slack.channel, "U0ADA", "only you"]);
  });

  test("are refused what Slack refuses", async () => {
    await assert.rejects(web.chat.postMessage({ channel: slack.other_channel, text: "x" }), error("not_in_channel"));
    await assert.rejects(post("x".repeat(3001)), error("invalid_blocks"));
    await assert.rejects(post("<!channel>"), error("invalid_blocks"));
    const missing = { channel: slack.channel, ts: "1.0", text: "x" };
    await assert.rejects(web.chat.update(missing), error("message_not_found"));
    await assert.rejects(web.views.open({ trigger_id: "1.none", view: window }), error("exchanged_trigger_id"));
  });

  test("wait as long as a limit says", async () => {
    const patient = new WebClient(slack.bot_token, { slackApiUrl: `${slack.base}/api/`, retryConfig: { retries: 1 } });
    await slack.do("limit", { seconds: 1 });
    const started = Date.now();
    let limited = 0;
    patient.on("rate_limited", (seconds) => (limited = seconds));
    assert.ok((await patient.chat.postMessage({ channel: slack.channel, text: "later" })).ok);
    assert.equal(limited, 1);
    assert.ok(Date.now() - started >= 900);
  });

  test("are connected, take what people do, and connect again when told to", async () => {
    const client = new SocketModeClient({
      appToken: slack.app_token,
      clientPingTimeout: 500,
      logLevel: LogLevel.ERROR,
      clientOptions: { slackApiUrl: `${slack.base}/api/` },
    });
    const heard = [];
    let connections = 0;
    client.on("connected", () => (connections += 1));
    client.on("slack_event", async ({ ack, type, body, envelope_id: id }) => {
      await ack();
      heard.push({ type, body, id });
    });
    const next = (kind) => until(kind, () => heard.find((report) => report.body.type === kind));
    await client.start();
    const posted = await post("wait", [button("Deny", "deny")]);
    const pressed = await slack.do("press", { ts: posted.ts, label: "Deny", user: "U0ADA" });
    const press = await next("block_actions");
    assert.equal(press.id, pressed);
    assert.deepEqual([press.body.actions[0].action_id, press.body.actions[0].value], ["deny", "nonce"]);
    assert.deepEqual([press.body.user.id, press.body.user.team_id], ["U0ADA", "T0TEAM"]);
    const opened = await web.views.open({ trigger_id: press.body.trigger_id, view: window });
    assert.equal(opened.view.callback_id, "reason");
    await assert.rejects(
      web.views.open({ trigger_id: press.body.trigger_id, view: window }),
      error("exchanged_trigger_id"),
    );
    const sent = await slack.do("submit", { user: "U0ADA", text: "not now" });
    const submission = await next("view_submission");
    assert.equal(submission.body.view.state.values.reason.reason.value, "not now");
    const written = await slack.do("write", { user: "U0ADA", text: "link <CODE>" });
    const message = await next("event_callback");
    assert.equal(message.body.event.text, "link &lt;CODE&gt;");
    await until("acknowledgments", async () => {
      const { acknowledged } = await state();
      return [pressed, sent, written].every((id) => acknowledged.includes(id));
    });
    await until("pongs", async () => (await state()).pongs > 0);
    await slack.do("announce_end", { reason: "warning" });
    await until("another connection", () => connections === 2);
    await slack.do("write", { user: "U0ADA", text: "again" });
    await until("the next message", () => heard.some((report) => report.body.event?.text === "again"));
    await client.disconnect();
    await until("no connection", async () => (await state()).open_sockets.length === 0);
  });
});
