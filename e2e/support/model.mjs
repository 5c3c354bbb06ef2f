// A model server that plays a script: it answers as the model APIs of Anthropic and OpenAI do, and each answer calls the
// next tool of the script. Agents take it for their model.

import assert from "node:assert/strict";
import http from "node:http";
import { once } from "node:events";

/** The scripted model. `steps` are `{tool, arguments}`; after the last one it says the last result. */
export class Model {
  #server;
  #steps;
  /** Every request body, as the agent sent it. */
  requests = [];
  #after = new Map();

  static async start(steps) {
    const model = new Model();
    model.#steps = steps;
    model.#server = http.createServer((request, response) => model.#answer(request, response));
    model.#server.listen(0, "127.0.0.1");
    await once(model.#server, "listening");
    return model;
  }

  get url() {
    return `http://127.0.0.1:${this.#server.address().port}`;
  }

  /** The first request with this many results of tools: what the agent said after that step. */
  after(results) {
    return this.#after.get(results) ?? assert.fail(`the agent never had ${results} results`);
  }

  async stop() {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  async #answer(request, response) {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    const { pathname } = new URL(request.url, this.url);
    const dialect = DIALECTS[pathname.replace(/^\/v1/, "")];
    if (request.method !== "POST" || !dialect) {
      response.writeHead(404, { "content-type": "application/json" }).end('{"error":{"message":"not here"}}');
      return;
    }
    const body = JSON.parse(text);
    const tools = dialect.tools(body);
    // Agents also ask small questions, such as for a title: those have no tools.
    const results = dialect.results(body);
    const step = tools.length > 0 ? this.#steps[results] : undefined;
    if (tools.length > 0) {
      this.requests.push(text);
      if (!this.#after.has(results)) this.#after.set(results, text);
    }
    const name = step && tools.find((tool) => tool.name.endsWith(step.tool));
    if (step && !name) throw new Error(`no tool ${step.tool} among ${tools.map((tool) => tool.name)}`);
    response.writeHead(200, { "content-type": body.stream === false ? "application/json" : "text/event-stream" });
    for (const event of step ? dialect.call(name, step.arguments) : dialect.say("The script is done.")) {
      response.write(event);
    }
    response.end();
  }
}

let number = 0;
const id = (prefix) => `${prefix}_${++number}`;
const named = (type, data) => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;

/** Anthropic's Messages API, streamed. */
const messages = {
  tools: (body) => body.tools ?? [],
  results: (body) => body.messages.flatMap(({ content }) => (Array.isArray(content) ? content : []))
    .filter(({ type }) => type === "tool_result").length,
  call: (tool, input) => messages.events("tool_use", { type: "tool_use", id: id("toolu"), name: tool.name, input: {} },
    { type: "input_json_delta", partial_json: JSON.stringify(input) }),
  say: (text) => messages.events("end_turn", { type: "text", text: "" }, { type: "text_delta", text }),
  events: (reason, block, delta) => [
    named("message_start", {
      message: {
        id: id("msg"), type: "message", role: "assistant", model: "scripted", content: [], stop_reason: null,
        stop_sequence: null, usage: { input_tokens: 1, output_tokens: 1 },
      },
    }),
    named("content_block_start", { index: 0, content_block: block }),
    named("content_block_delta", { index: 0, delta }),
    named("content_block_stop", { index: 0 }),
    named("message_delta", { delta: { stop_reason: reason, stop_sequence: null }, usage: { output_tokens: 1 } }),
    named("message_stop", {}),
  ],
};

/** OpenAI's Responses API, streamed. */
const responses = {
  // Tools of one MCP server may stand in a namespace.
  tools: (body) => (body.tools ?? []).flatMap((tool) => (tool.type === "namespace"
    ? tool.tools.map((one) => ({ ...one, namespace: tool.name }))
    : [tool])).filter((tool) => tool.name),
  results: (body) => body.input.filter(({ type }) => type === "function_call_output").length,
  call: ({ name, namespace }, input) => responses.events({
    type: "function_call", id: id("fc"), call_id: id("call"), name, namespace, arguments: JSON.stringify(input),
  }),
  say: (text) => responses.events({
    type: "message", id: id("msg"), role: "assistant", content: [{ type: "output_text", text, annotations: [] }],
  }),
  events: (item) => {
    const response = { id: id("resp"), object: "response", status: "completed", output: [item] };
    return [
      named("response.created", { response: { ...response, status: "in_progress", output: [] } }),
      named("response.output_item.done", { output_index: 0, item }),
      named("response.completed", {
        response: {
          ...response,
          usage: {
            input_tokens: 1, input_tokens_details: null, output_tokens: 1, output_tokens_details: null, total_tokens: 2,
          },
        },
      }),
    ];
  },
};

/** OpenAI's Chat Completions API, streamed. */
const completions = {
  tools: (body) => (body.tools ?? []).map(({ function: { name } }) => ({ name })),
  results: (body) => body.messages.filter(({ role }) => role === "tool").length,
  call: (tool, input) => completions.events("tool_calls", {
    role: "assistant",
    tool_calls: [{
      index: 0, id: id("call"), type: "function", function: { name: tool.name, arguments: JSON.stringify(input) },
    }],
  }),
  say: (content) => completions.events("stop", { role: "assistant", content }),
  events: (finish_reason, delta) => {
    const chunk = { id: id("chatcmpl"), object: "chat.completion.chunk", created: 1, model: "scripted" };
    const data = (choice, more = {}) => `data: ${JSON.stringify({ ...chunk, choices: [choice], ...more })}\n\n`;
    return [
      data({ index: 0, delta, finish_reason: null }),
      data({ index: 0, delta: {}, finish_reason }, { usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } }),
      "data: [DONE]\n\n",
    ];
  },
};

const DIALECTS = { "/messages": messages, "/responses": responses, "/chat/completions": completions };
