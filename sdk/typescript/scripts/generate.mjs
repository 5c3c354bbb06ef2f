// Derives src/openapi.ts from the snapshot of the OpenAPI document that the Rust tests keep. No server is needed.
//
//   node scripts/generate.mjs            # writes the file
//   node scripts/generate.mjs --check    # fails if it is not what the snapshot says

import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

import openapiTS, { astToString } from "openapi-typescript";

const SNAPSHOT = new URL(
  "../../../crates/pyxis/tests/it/snapshots/it__openapi__the_whole_document_is_as_it_was_looked_at.snap",
  import.meta.url,
);
const TARGET = new URL("../src/openapi.ts", import.meta.url);
const HEADER = `// Generated from the server's OpenAPI document by \`npm run generate\`. Types only; do not edit.\n\n`;

/** The operations that this package calls, by their ids. */
const OPERATIONS = new Set([
  "getScore", "signScore", "getScoreKeys", "getScoreTokenKeys", "getScoreHistory", "listScores", "listStamps", "addStamps", "removeStamps", "getCatalogue",
  "getModelScore", "checkSybilResistance", "checkResidence", "checkCleanHands", "attestForEvm",
  "listAttestationKeys", "forward", "pollApproval", "withdrawRequest", "listServices",
]);

/** The document in the snapshot, which begins with a head between two lines of dashes. */
function parseSnapshot(text) {
  const end = text.indexOf("\n---\n", 3);
  if (!text.startsWith("---\n") || end < 0) throw new Error(`${fileURLToPath(SNAPSHOT)} is not a snapshot of insta`);
  return JSON.parse(text.slice(end + 5));
}

/** The document without the operations that this package does not call, and with what it needs of failures. */
function selectOperations(document) {
  const found = new Set();
  const paths = {};
  for (const [path, item] of Object.entries(document.paths)) {
    const methods = Object.entries(item).filter(([, operation]) => OPERATIONS.has(operation?.operationId));
    for (const [method, operation] of methods) {
      found.add(operation.operationId);
      const success = Object.entries(operation.responses).filter(([status]) => /^2/.test(status));
      paths[path] = { ...paths[path], [method]: { ...operation, responses: Object.fromEntries(success) } };
    }
  }
  const missing = [...OPERATIONS].filter((id) => !found.has(id));
  if (missing.length > 0) throw new Error(`the OpenAPI document has no operation ${missing.join(", ")}`);
  return paths;
}

/** The names of the schemas that `value` refers to, directly or through others. */
function reachableSchemas(value, schemas, names = new Set()) {
  for (const [, name] of JSON.stringify(value).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
    if (names.has(name)) continue;
    names.add(name);
    reachableSchemas(schemas[name], schemas, names);
  }
  return names;
}

async function generate() {
  const document = parseSnapshot(await readFile(SNAPSHOT, "utf8"));
  const { schemas } = document.components;
  const paths = selectOperations(document);
  const names = reachableSchemas([paths, schemas.Problem], schemas).add("Problem");
  const selected = Object.fromEntries(Object.entries(schemas).filter(([name]) => names.has(name)));
  const part = { openapi: document.openapi, info: document.info, paths, components: { schemas: selected } };
  return HEADER + astToString(await openapiTS(part, { alphabetize: true, defaultNonNullable: false }));
}

const expected = await generate();
if (!process.argv.includes("--check")) {
  await writeFile(TARGET, expected);
} else if ((await readFile(TARGET, "utf8").catch(() => "")) !== expected) {
  console.error("sdk/typescript/src/openapi.ts differs from the OpenAPI document: run npm run generate there");
  process.exitCode = 1;
}
