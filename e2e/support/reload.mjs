// Pages that stay as they are until they are loaded again.

const LIMIT_SECS = 30;

/** Loads the page again until it shows `place`. */
export async function reloadUntil(page, place) {
  const end = Date.now() + LIMIT_SECS * 1000;
  while (!(await place.isVisible()) && Date.now() < end) await page.reload();
  await place.waitFor();
}
