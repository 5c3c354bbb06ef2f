// The example clients: against the server, and against one that answers as servers in trouble do.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { Server } from "./support/server.mjs";

const run = promisify(execFile);
const HERE = fileURLToPath(new URL(".", import.meta.url));
const EXAMPLES = join(HERE, "..", "examples");
/** The Python client, and a Python that has its one dependency (ci/python-tools.sh). */
const PYTHONPATH = join(HERE, "..", "sdk", "python", "src");
const TOOLS = process.env.PX_TEST_PYTHON_TOOLS;
const PYTHON = TOOLS ? join(TOOLS, "bin", "python") : "python3";
const ADDRESS = "0x52908400098527886E0F7030069857D2E4169EE7";
const RECORD = {
  address: ADDRESS.toLowerCase(),
  score: "35.76600",
  passing_score: true,
  threshold: "20.00000",
  last_score_timestamp: "2026-01-31T09:05:00.250000+00:00",
  expiration_timestamp: null,
  error: null,
  stamps: {},
};

let directory;
let server;
/** Each client as a command. */
const clients = {
  Python: [PYTHON, join(EXAMPLES, "python", "score.py")],
  TypeScript: ["node"],
  Rust: [process.env.PX_TEST_EXAMPLE_RUST],
};

before(async () => {
  directory = await mkdtemp(join(tmpdir(), "px-examples-"));
  // Compiled, so that its types are checked, and so that older Node runs it too. The copy uses sdk/typescript, as npm
  // has linked it.
  await cp(join(EXAMPLES, "typescript"), directory, { recursive: true });
  const compiler = join(HERE, "node_modules", "typescript", "bin", "tsc");
  const types = ["--typeRoots", join(HERE, "node_modules", "@types")];
  await run("node", [compiler, "--project", directory, "--noEmitOnError", ...types]);
  clients.TypeScript.push(join(directory, "score.js"));
  server = await Server.start();
});

after(async () => {
  await server?.remove();
  if (directory) await rm(directory, { recursive: true, force: true });
});

/** Output of a client, and true if it succeeds. */
async function ask(client, env, address = ADDRESS) {
  const [command, ...rest] = clients[client];
  const system = { PATH: process.env.PATH, HOME: process.env.HOME, PYTHONPATH, PYTHONDONTWRITEBYTECODE: "1" };
  const own = { ...system, PYXIS_API_KEY: "key", PYXIS_SCORER_ID: "1", ...env };
  try {
    const { stdout } = await run(command, [...rest, address], { env: own });
    return { ok: true, text: stdout.trim() };
  } catch (error) {
    return { ok: false, text: error.stderr };
  }
}

/** A server that gives these answers in turn; null is none at all, and a function ends one in its own way. `body`
 * meets the requests that came. */
async function withAnswers(answers, body) {
  const arrivals = [];
  const fake = createServer((request, response) => {
    const answer = answers[Math.min(arrivals.length, answers.length - 1)];
    const at = performance.now();
    const arrival = { at, ended: at, url: request.url, key: request.headers["x-api-key"] };
    arrivals.push(arrival);
    if (!answer) {
      response.once("close", () => (arrival.ended = performance.now())); // given up by the client
      return;
    }
    if (typeof answer === "function") return answer(response);
    const [status, headers, value] = answer;
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify(value));
  });
  fake.listen(0, "127.0.0.1");
  await once(fake, "listening");
  try {
    await body(`http://127.0.0.1:${fake.address().port}`, arrivals);
  } finally {
    fake.closeAllConnections();
    fake.close();
  }
}

/** Long enough for a slow start of a client: a try that does not arrive is none that can be counted. */
const PYXIS_TIMEOUT_SECONDS = "3";
const DETAIL = { detail: "Request timed out." };

suite("Example clients", { concurrency: true }, () => {
  for (const client of Object.keys(clients)) {
    suite(`${client} client`, { concurrency: true }, () => {
      test("reads the score of an address from the server", async () => {
        const { api_key: PYXIS_API_KEY, scorer_id: scorer } = server.bootstrap;
        const env = { PYXIS_URL: server.base, PYXIS_API_KEY, PYXIS_SCORER_ID: String(scorer) };
        assert.deepEqual(await ask(client, env), { ok: true, text: "0.00000 does not pass" });
        const wrong = await ask(client, { ...env, PYXIS_API_KEY: "wrong" });
        assert.equal(wrong.ok, false);
        assert.match(wrong.text, /401.*Invalid API Key\./);
        assert.match((await ask(client, env, "vitalik.eth")).text, /400.*Invalid address\./);
      });

      test("asks again when there is no answer in time, or 502, 503 and 504", async () => {
        const answers = [null, [504, {}, DETAIL], [503, {}, DETAIL], [502, {}, DETAIL], [200, {}, RECORD]];
        await withAnswers(answers, async (PYXIS_URL, arrivals) => {
          const answer = await ask(client, { PYXIS_URL, PYXIS_TIMEOUT_SECONDS });
          assert.deepEqual(answer, { ok: true, text: "35.76600 passes" });
          assert.equal(arrivals.length, 5);
          for (const { url, key } of arrivals) {
            assert.deepEqual([url, key], [`/v2/stamps/1/score/${ADDRESS}`, "key"]);
          }
          // Each pause is at least twice as long as the one before had to be; a busy machine sees its beginning late.
          for (let index = 1; index < arrivals.length; index++) {
            const pause = arrivals[index].at - arrivals[index - 1].ended;
            assert.ok(pause >= 400 * 2 ** (index - 1), `pause ${index}: ${Math.round(pause)} ms`);
          }
        });
      });

      test("waits a minute for an answer unless it is told otherwise", async () => {
        await withAnswers([null, [200, {}, RECORD]], async (PYXIS_URL, arrivals) => {
          assert.deepEqual(await ask(client, { PYXIS_URL }), { ok: true, text: "35.76600 passes" });
          const waited = (arrivals[0].ended - arrivals[0].at) / 1000;
          assert.ok(waited > 55 && waited < 120, `${waited} s`);
        });
      });

      test("asks again when an answer breaks off or never ends", async () => {
        const begin = (status) => (response) => {
          response.writeHead(status, { "content-type": "application/json", "content-length": "400" });
          response.write('{"score":');
          return response;
        };
        const stalls = begin(200);
        const breaksOff = (response) => setImmediate(() => begin(503)(response).destroy());
        await withAnswers([stalls, breaksOff, [200, {}, RECORD]], async (PYXIS_URL, arrivals) => {
          const answer = await ask(client, { PYXIS_URL, PYXIS_TIMEOUT_SECONDS });
          assert.deepEqual(answer, { ok: true, text: "35.76600 passes" });
          assert.equal(arrivals.length, 3);
        });
      });

      test("waits as long as a 429 says", async () => {
        const refused = [429, { "retry-after": "2" }, { detail: "You have been rate limited!" }];
        await withAnswers([refused, [200, {}, RECORD]], async (PYXIS_URL, arrivals) => {
          assert.equal((await ask(client, { PYXIS_URL })).text, "35.76600 passes");
          assert.ok(arrivals[1].at - arrivals[0].at >= 1990, "it came back too early");
        });
      });

      test("gives up in the end, and at once where asking again is of no use", async () => {
        await withAnswers([[403, {}, { detail: "Invalid permissions for action." }]], async (PYXIS_URL, arrivals) => {
          const answer = await ask(client, { PYXIS_URL });
          assert.equal(answer.ok, false);
          assert.match(answer.text, /403/);
          assert.equal(arrivals.length, 1);
        });
        await withAnswers([[503, {}, DETAIL]], async (PYXIS_URL, arrivals) => {
          const answer = await ask(client, { PYXIS_URL });
          assert.equal(answer.ok, false);
          assert.match(answer.text, /given up after 5 attempts.*503/);
          assert.equal(arrivals.length, 5);
        });
      });
    });
  }
});
