// The automated audit of accessibility: axe-core, WCAG 2.2 A and AA.

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";

const AXE = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];

/** Findings of axe on the page: rule and the first element of each. */
export async function findings(page) {
  if (!await page.evaluate(() => "axe" in globalThis)) await page.evaluate(AXE);
  // The result has every element of the page, so it stays there.
  return page.evaluate(async (tags) => {
    const options = { runOnly: { type: "tag", values: tags }, resultTypes: ["violations"] };
    const { violations } = await globalThis.axe.run(document, options);
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html.slice(0, 200)).join(" | ")}`);
  }, TAGS);
}
