// On the page of notifications: lets this browser be notified, or says why it cannot be.

const section = document.querySelector("[data-push]");
const form = section?.querySelector("[data-push-form]");
const button = section?.querySelector("[data-push-enable]");
const note = section?.querySelector("[data-push-note]");

// The one script URL that this page may register.
const worker = window.trustedTypes
  ? window.trustedTypes.createPolicy("pyxis", { createScriptURL: () => "/sw.js" }).createScriptURL("")
  : "/sw.js";

function say(text) {
  note.textContent = text;
}

function bytes(base64url) {
  const text = atob(base64url.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(text, (letter) => letter.charCodeAt(0));
}

/** A few words by which a person knows the browser again. */
function label() {
  const brand = navigator.userAgentData?.brands?.find(({ brand }) => !brand.includes("Not"))?.brand;
  const system = navigator.userAgentData?.platform || navigator.platform || "a computer";
  return `${brand ?? "Browser"} on ${system}`;
}

async function enable() {
  button.disabled = true;
  try {
    const permission = await Notification.requestPermission();
    if (permission !== "granted") {
      say("Notifications are blocked for this site. Allow them in the browser's settings.");
      return;
    }
    const registration = await navigator.serviceWorker.register(worker);
    await navigator.serviceWorker.ready;
    const subscription = await registration.pushManager.subscribe({
      userVisibleOnly: true,
      applicationServerKey: bytes(section.dataset.pushKey),
    });
    const { endpoint, keys } = subscription.toJSON();
    const fields = { endpoint, p256dh: keys.p256dh, auth: keys.auth, label: label() };
    for (const [name, value] of Object.entries(fields)) form.elements[name].value = value;
    form.submit();
  } catch (error) {
    say(`Notifications could not be enabled: ${error.message}`);
  } finally {
    button.disabled = false;
  }
}

if (section && "serviceWorker" in navigator && "PushManager" in window && "Notification" in window) {
  button.hidden = false;
  say(
    Notification.permission === "denied"
      ? "Notifications are blocked for this site. Allow them in the browser's settings."
      : "The browser asks you once for permission.",
  );
  button.addEventListener("click", enable);
}
