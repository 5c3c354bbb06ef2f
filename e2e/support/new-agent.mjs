// Adding an agent in the dashboard.

/** Adds an agent that may use every credential; ends on the page that shows its key, and returns that. */
export async function addAgent(page, name) {
  await page.goto("/app/new/agent");
  await page.getByLabel("Name", { exact: true }).fill(name);
  await page.getByLabel("All credentials, including ones added later").check();
  await page.getByRole("button", { name: "Add agent" }).click();
  const key = page.getByLabel("Agent key", { exact: true });
  await key.waitFor();
  return key.innerText();
}
