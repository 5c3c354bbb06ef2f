import { chromium } from "playwright-core";
const list = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
for (const scheme of ["light", "dark"]) for (const width of [1280, 390]) {
  const context = await browser.newContext({ viewport: { width, height: width === 390 ? 844 : 900 }, colorScheme: scheme });
  const page = await context.newPage();
  for (const item of list) {
    const [name, number] = item.split("=");
    await page.goto(`http://127.0.0.1:8799/preview/${number}`, { waitUntil: "load" });
    await page.screenshot({ path: `/work/wt/pictures/${name}-${width}-${scheme}.png`, fullPage: true });
  }
  await context.close();
}
await browser.close();
