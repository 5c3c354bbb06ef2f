// Compiles every contract of contracts/ and test/, but for Foundry's tests, into out/NAME.json with its ABI and bytecode.

import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { readFileSync } from "node:fs";
import solc from "solc";

const HERE = new URL(".", import.meta.url);
const sources = {};
for (const folder of ["contracts", "test"]) {
  for (const name of await readdir(new URL(`${folder}/`, HERE))) {
    if (!name.endsWith(".sol") || name.endsWith(".t.sol")) continue;
    sources[`${folder}/${name}`] = { content: await readFile(new URL(`${folder}/${name}`, HERE), "utf8") };
  }
}
const settings = {
  optimizer: { enabled: true, runs: 200 },
  outputSelection: { "*": { "*": ["abi", "evm.bytecode.object"] } },
};
const find = (path) => ({ contents: readFileSync(new URL(`node_modules/${path}`, HERE), "utf8") });
const input = JSON.stringify({ language: "Solidity", sources, settings });
const { contracts, errors = [] } = JSON.parse(solc.compile(input, { import: find }));
for (const { formattedMessage } of errors) console.error(formattedMessage);
if (errors.some(({ severity }) => severity === "error")) process.exit(1);

await mkdir(new URL("out/", HERE), { recursive: true });
for (const [file, found] of Object.entries(contracts)) {
  if (!(file in sources)) continue;
  for (const [name, { abi, evm }] of Object.entries(found)) {
    const artifact = JSON.stringify({ abi, bytecode: `0x${evm.bytecode.object}` });
    await writeFile(new URL(`out/${name}.json`, HERE), artifact);
  }
}
