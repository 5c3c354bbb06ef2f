// The packages as a user gets them: packed, and installed from the archives without a registry.

import { execFile } from "node:child_process";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const SDK = fileURLToPath(new URL("../..", import.meta.url));
const PROGRAMS = fileURLToPath(new URL("../programs", import.meta.url));

export class Installation {
  /** Folder with `node_modules` and a copy of the programs. */
  directory;
  /** Files in each archive, by the name of the package. */
  contents = {};

  static async make() {
    const installation = new Installation();
    installation.directory = await mkdtemp(join(tmpdir(), "px-sdk-installed-"));
    const archives = [await installation.#pack("typescript"), await installation.#pack("react")];
    await writeFile(join(installation.directory, "package.json"), '{"private":true,"type":"module"}\n');
    const options = ["--offline", "--ignore-scripts", "--legacy-peer-deps", "--no-audit", "--no-fund", "--loglevel=error"];
    await run("npm", ["install", ...options, ...archives], { cwd: installation.directory });
    await cp(PROGRAMS, installation.directory, { recursive: true });
    return installation;
  }

  async #pack(name) {
    const options = ["--json", "--ignore-scripts", "--pack-destination", this.directory];
    const { stdout } = await run("npm", ["pack", ...options], { cwd: join(SDK, name) });
    const [{ files, filename, name: packageName }] = Object.values(JSON.parse(stdout));
    this.contents[packageName] = files.map(({ path }) => path).sort();
    return join(this.directory, filename.replace("@", "").replace("/", "-"));
  }

  /** Path of a file in the installation. */
  path(...parts) {
    return join(this.directory, ...parts);
  }

  async remove() {
    await rm(this.directory, { recursive: true, force: true });
  }
}
