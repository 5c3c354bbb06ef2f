// The visit as a program of Node, Deno and Bun. Prints what it saw.

import process from "node:process";

import { Pyxis } from "@pyxis/sdk";
import { Verification } from "@pyxis/sdk/verification";

import { visit } from "./visit.mjs";

const [url, apiKey, address, silentUrl] = process.argv.slice(2);
console.log(JSON.stringify(await visit({ Pyxis, Verification }, { url, apiKey, address, silentUrl })));
