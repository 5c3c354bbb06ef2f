// Removes what an earlier build left, so that a package never has a file of a module that is gone.

import { rm } from "node:fs/promises";

await rm(new URL("../dist", import.meta.url), { recursive: true, force: true });
