// Puts the style sheet next to the compiled modules.

import { copyFile } from "node:fs/promises";

await copyFile(new URL("../src/styles.css", import.meta.url), new URL("../dist/styles.css", import.meta.url));
