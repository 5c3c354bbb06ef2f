#!/usr/bin/env node
// The compiler of npm, under the options by which Foundry calls one. So both builds use the same version.

import { readFileSync } from "node:fs";
import solc from "solc";

const HERE = process.cwd();
const args = process.argv.slice(2);

if (args.includes("--version")) {
  const version = solc.version().replace("Emscripten.clang", "Linux.g++");
  console.log(`solc, the solidity compiler commandline interface\nVersion: ${version}`);
} else if (args.includes("--standard-json")) {
  const find = (path) => {
    try {
      return { contents: readFileSync(`${HERE}/${path}`, "utf8") };
    } catch (error) {
      return { error: error.message };
    }
  };
  process.stdout.write(solc.compile(readFileSync(0, "utf8"), { import: find }));
} else {
  console.error("solc.mjs takes --version or --standard-json");
  process.exitCode = 1;
}
