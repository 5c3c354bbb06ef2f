// A page without a browser, in which real React renders.

import { JSDOM } from "jsdom";

const { window } = new JSDOM("<!doctype html><html lang=en><title>Score</title><main></main>", { pretendToBeVisual: true });
for (const name of ["document", "HTMLElement", "navigator", "Node"]) {
  // Newer versions of Node have a navigator of their own, which cannot be assigned to.
  Object.defineProperty(globalThis, name, { value: window[name], configurable: true });
}
globalThis.window = window;
globalThis.IS_REACT_ACT_ENVIRONMENT = true;

// React looks for a page when it is loaded.
const { act, createElement } = await import("react");
const { createRoot, hydrateRoot } = await import("react-dom/client");

export const root = window.document.querySelector("main");

/** Renders an element, runs `body` with a function that renders another one, and takes everything away. */
export async function render(element, body, { hydrate = false } = {}) {
  let reactRoot;
  await act(async () => {
    reactRoot = hydrate ? hydrateRoot(root, element) : createRoot(root);
    if (!hydrate) reactRoot.render(element);
  });
  let mounted = true;
  const unmount = async () => {
    if (mounted) await act(async () => reactRoot.unmount());
    mounted = false;
  };
  try {
    await body({ update: (next) => act(async () => reactRoot.render(next)), unmount });
  } finally {
    await unmount();
    root.replaceChildren();
  }
}

/** Waits until the page is as it should be. The test's own time limit ends the wait. */
export async function until(condition) {
  while (!condition()) {
    await act(() => new Promise((resolve) => setImmediate(resolve)));
  }
}

/** Presses a button. */
export async function press(button) {
  await act(async () => button.click());
}

export { createElement };
