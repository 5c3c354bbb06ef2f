// Passkey ceremonies. A form that needs one names where its challenge comes from; the authenticator's
// answer goes into the form, which is then sent like any other. Without a passkey nothing is sent.

const busy = new WeakSet();

const UNSUPPORTED = "This browser does not support passkeys. Use another browser.";
const isSupported = () => Boolean(globalThis.PublicKeyCredential?.parseRequestOptionsFromJSON);

function note(form, text) {
  const place = form.querySelector("[data-passkey-note]");
  if (place) place.textContent = text;
}

/** The challenge, or the reason why there is none. */
async function begin(form, button) {
  const answer = await fetch(form.dataset.ceremony, {
    method: "POST",
    body: new URLSearchParams(new FormData(form, button)),
    headers: { accept: "application/json" },
    redirect: "manual",
  });
  if (answer.ok) return answer.json();
  const told = answer.headers.get("content-type")?.includes("json") ? (await answer.json()).detail : null;
  throw new Error(told ?? "The server did not start the passkey check. Reload the page and try again.");
}

async function ask(form, options) {
  if ("create" in form.dataset) {
    const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
    return navigator.credentials.create({ publicKey });
  }
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
  return navigator.credentials.get({ publicKey });
}

function words(error) {
  if (error.name === "InvalidStateError") return "This passkey is already registered.";
  if (error.name === "NotAllowedError") return "The passkey was not used, or it took too long. Nothing was changed.";
  return error.message;
}

/** True unless the form asks for a passkey only with some of its fields and buttons. */
function isNeeded(form, button) {
  const when = form.dataset.ceremonyWhen;
  return !when || (button?.value === "approve" && [...form.elements].some((field) => field.matches(when)));
}

/** Keeps the pressed button, which a form that a script sends would leave out. */
function keep(form, button) {
  if (!button?.name) return;
  const field = document.createElement("input");
  Object.assign(field, { type: "hidden", name: button.name, value: button.value });
  form.append(field);
}

async function run(form, button) {
  if (!isSupported()) throw new Error(UNSUPPORTED);
  note(form, "Waiting for your passkey…");
  const { ceremony, options } = await begin(form, button);
  const credential = await ask(form, options);
  form.elements.ceremony.value = ceremony;
  form.elements.credential.value = JSON.stringify(credential.toJSON());
  keep(form, button);
  form.submit();
}

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (event.defaultPrevented || form.dataset.ceremony === undefined || !isNeeded(form, event.submitter)) return;
  event.preventDefault();
  if (busy.has(form)) return;
  busy.add(form);
  try {
    await run(form, event.submitter);
  } catch (error) {
    note(form, words(error));
    busy.delete(form);
    // It may be sent again, perhaps without a passkey.
    delete form.dataset.sent;
  }
});

/** Says on each form that it cannot work, if so. A script may add forms. */
function check() {
  if (isSupported()) return;
  for (const form of document.querySelectorAll("form[data-ceremony]:not([data-ceremony-when])")) {
    note(form, UNSUPPORTED);
  }
}
document.addEventListener("px:added", check);
check();
