// Shows notifications and opens the page that one is about. It caches nothing and sees no request.

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("push", (event) => {
  let told = {};
  try {
    told = event.data?.json() ?? {};
  } catch {
    // Not ours: the browser wants something to be shown all the same.
  }
  const shown = self.registration.showNotification(told.title ?? "Pyxis: approval needed", {
    body: told.body ?? "Open the inbox. Secured by Pyxis",
    tag: told.tag,
    icon: told.icon ?? undefined,
    requireInteraction: true,
    data: { path: told.path },
  });
  event.waitUntil(shown);
});

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  // Only ever a page of ours, and only by its path.
  const path = String(event.notification.data?.path ?? "");
  const url = new URL(/^\/approve\/[0-9a-f-]{36}$/.test(path) ? path : "/app/inbox", self.location.origin).href;
  const open = async () => {
    const windows = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
    const here = windows.find((client) => client.url === url);
    await (here ? here.focus() : self.clients.openWindow(url));
  };
  event.waitUntil(open());
});
