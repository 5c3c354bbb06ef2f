// Discord's own tools accept the stand-in for Discord (`crates/pyxis-testkit/src/discord.rs`).

import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";

import { REST } from "@discordjs/rest";
import {
  ApplicationCommandOptionType, ApplicationCommandType, ButtonStyle, ComponentType, InteractionType, Routes,
  TextInputStyle,
} from "discord-api-types/v10";
import { verifyKey } from "discord-interactions";

import { StandIn } from "../stand-in.mjs";

const PERSON = "1300000000000000001";
const button = (label, id) => ({
  type: ComponentType.Button, style: ButtonStyle.Success, label, custom_id: id,
});
const row = (...components) => ({ type: ComponentType.ActionRow, components });
const window = {
  title: "Deny request",
  custom_id: "reason:1",
  components: [{
    type: ComponentType.Label,
    label: "Reason",
    component: { type: ComponentType.TextInput, custom_id: "reason", style: TextInputStyle.Paragraph },
  }],
};
const error = (status, code) => (failure) => failure.status === status && failure.code === code;

suite("Discord's own tools", () => {
  let discord;
  let rest;
  before(async () => {
    discord = await StandIn.start();
    rest = new REST({ api: `${discord.base}/api`, version: "10", retries: 0 }).setToken(discord.bot_token);
  });
  after(() => discord?.stop());

  const state = () => discord.do("state");
  const shown = async (id) => (await state()).messages.find((message) => message.id === id);
  const post = (body, channel = discord.channel) =>
    rest.post(Routes.channelMessages(channel), { body: { allowed_mentions: { parse: [] }, ...body } });

  test("sign in, and look at channels", async () => {
    assert.equal((await rest.get(Routes.user())).bot, true);
    const application = await rest.get(Routes.currentApplication());
    assert.deepEqual([application.id, application.verify_key], [discord.application, discord.public_key]);
    assert.equal((await rest.get(Routes.channel(discord.channel))).type, 0);
    assert.equal((await rest.get(Routes.channel(discord.category))).type, 4);
    await assert.rejects(rest.get(Routes.channel(discord.hidden_channel)), error(403, 50001));
    await assert.rejects(rest.get(Routes.channel(discord.deleted_channel)), error(404, 10003));
    const stranger = new REST({ api: `${discord.base}/api`, version: "10", retries: 0 }).setToken("wrong");
    await assert.rejects(stranger.get(Routes.user()), (failure) => failure.status === 401);
  });

  test("post, change, and write to a person", async () => {
    const posted = await post({
      content: "Approval needed \\*",
      embeds: [{ description: "a \\<b\\>", color: 0x4338ca }],
      components: [row(button("Approve", "approve:1"), button("Deny", "deny:1"))],
    });
    const first = await shown(posted.id);
    assert.deepEqual([first.text, first.labels], ["Approval needed *\na <b>", ["Approve", "Deny"]]);
    assert.equal(first.has_markup, false);
    const path = Routes.channelMessage(discord.channel, posted.id);
    await rest.patch(path, { body: { content: "done", embeds: [], components: [], allowed_mentions: { parse: [] } } });
    const last = await shown(posted.id);
    assert.deepEqual([last.text, last.labels, last.edits], ["done", [], 1]);
    const direct = await rest.post(Routes.userChannels(), { body: { recipient_id: PERSON } });
    assert.equal((await post({ content: "hello" }, direct.id)).channel_id, direct.id);
    const once = { content: "once", nonce: "17", enforce_nonce: true };
    assert.equal((await post(once)).id, (await post(once)).id);
  });

  test("are refused what Discord refuses", async () => {
    await assert.rejects(post({}), error(400, 50006));
    await assert.rejects(post({ content: "x".repeat(2001) }), error(400, 50035));
    await assert.rejects(post({ embeds: [{ description: "x".repeat(4097) }] }), error(400, 50035));
    await assert.rejects(post({ content: "x", components: [row(button("x", "y".repeat(101)))] }), error(400, 50035));
    await assert.rejects(post({ content: "x" }, discord.hidden_channel), error(403, 50001));
    const missing = Routes.channelMessage(discord.channel, "1500000000000009999");
    await assert.rejects(rest.patch(missing, { body: { content: "x" } }), error(404, 10008));
    const closed = await rest.post(Routes.userChannels(), { body: { recipient_id: discord.closed_person } });
    await assert.rejects(post({ content: "x" }, closed.id), error(403, 50007));
  });

  test("register a command", async () => {
    const command = {
      name: "link", type: ApplicationCommandType.ChatInput, description: "Link your account",
      options: [{ type: ApplicationCommandOptionType.String, name: "code", description: "Code", required: true }],
    };
    for (let round = 0; round < 2; round += 1) {
      await rest.post(Routes.applicationCommands(discord.application), { body: command });
    }
    const { commands } = await state();
    assert.deepEqual(commands.map(({ name, options }) => [name, options[0].name]), [["link", "code"]]);
  });

  test("wait as long as a limit says", async () => {
    await discord.do("limit", { seconds: 0.4 });
    const started = Date.now();
    const statuses = [];
    rest.on("response", (_, response) => statuses.push(response.status));
    assert.ok((await post({ content: "later" })).id);
    assert.ok(Date.now() - started >= 400);
    assert.deepEqual(statuses, [429, 200]);
  });

  test("take the signatures of interactions", async () => {
    const posted = await post({ content: "wait", components: [row(button("Deny", "deny:1"))] });
    const press = await discord.do("press", { id: posted.id, label: "Deny", person: PERSON });
    const submit = await discord.do("submit", { window, person: PERSON, text: "no" });
    const link = await discord.do("link", { person: PERSON, code: "CODE" });
    const ping = await discord.do("ping");
    assert.deepEqual(
      [ping, link, press, submit].map(({ type }) => type),
      [
        InteractionType.Ping, InteractionType.ApplicationCommand, InteractionType.MessageComponent,
        InteractionType.ModalSubmit,
      ],
    );
    assert.equal(press.data.custom_id, "deny:1");
    assert.deepEqual(submit.data.components[0].component.value, "no");
    const timestamp = "1767225600";
    for (const interaction of [ping, link, press, submit]) {
      const body = JSON.stringify(interaction);
      const signature = await discord.do("sign", { timestamp, body });
      assert.equal(await verifyKey(body, signature, timestamp, discord.public_key), true);
      assert.equal(await verifyKey(`${body} `, signature, timestamp, discord.public_key), false);
      assert.equal(await verifyKey(body, signature, "1767225601", discord.public_key), false);
    }
  });
});
