// Where things stand on the screen. What the browser runs is one function each.

import assert from "node:assert/strict";

import { findings } from "./axe.mjs";
import { faintTexts } from "./contrast.mjs";

export const DESKTOP = { width: 1280, height: 900 };
export const PHONE = { width: 390, height: 844 };
export const SIZES = [DESKTOP, PHONE];
const SCHEMES = ["light", "dark"];

/** Fails unless the page fits its window, can be read and has no finding, at both sizes and in both schemes. */
export async function assertFine(page, where) {
  const before = page.viewportSize();
  for (const viewport of SIZES) {
    await page.setViewportSize(viewport);
    for (const colorScheme of SCHEMES) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      const which = `${where} at ${viewport.width} px, ${colorScheme}`;
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), viewport.width, which);
      assert.deepEqual((await page.evaluate(faintTexts)).faint, [], which);
      assert.deepEqual(await findings(page), [], which);
    }
  }
  await page.setViewportSize(before);
}

/** Texts of pictures that reach beyond their picture, where they are cut. Runs in the page. */
export function cutLabels() {
  const cut = [];
  for (const picture of document.querySelectorAll("svg:has(text)")) {
    const frame = picture.getBoundingClientRect();
    if (frame.width === 0) continue;
    for (const text of picture.querySelectorAll("text")) {
      const box = text.getBoundingClientRect();
      const beyond = Math.max(frame.left - box.left, box.right - frame.right, frame.top - box.top, box.bottom - frame.bottom);
      if (beyond > 1) cut.push(`${text.textContent}: ${Math.round(beyond)} px`);
    }
  }
  return cut;
}
