// Joins the widget's parts to one module, as the server does, and puts it into the package with its types.

import { copyFile, readFile, writeFile } from "node:fs/promises";

const PARTS = ["messages", "wallets", "server", "style", "view", "element"];
const folder = new URL("../../../crates/pyxis-scoring/widget/", import.meta.url);
const dist = new URL("../dist/", import.meta.url);

const texts = await Promise.all(PARTS.map((part) => readFile(new URL(`${part}.js`, folder), "utf8")));
await writeFile(new URL("widget.js", dist), texts.join(""));
await copyFile(new URL("widget.d.ts", folder), new URL("widget.d.ts", dist));
