// The self-check page: signs in with a wallet (functions of wallets.js, which precede this) and shows the holder's score.

const page = document.querySelector("[data-check]");
const base = `/widget/v1/${page.dataset.check}`;
const part = (name) => page.querySelector(`[data-${name}]`);
let token;

const PROBLEMS = {
  rejected: "You declined the request in your wallet. Nothing was signed.",
  busy: "Your wallet has an open request. Open the wallet and answer it first.",
  signature: "Your wallet did not return a signature. Try again, or use another wallet.",
  nonce_expired: "The sign-in took too long. Sign in again.",
  wrong_signature: "The signature is not from the connected address. Choose its account in your wallet, and sign in again.",
  session_needed: "Your session has ended. Sign in again.",
  no_node: "This is a contract wallet on a network that the server cannot check. Switch the network, or use another wallet.",
};

const problem = (error) => {
  if (error.code === "walletFailed") return `Your wallet reported an error: ${error.values.detail}`;
  return PROBLEMS[error.code] ?? error.values?.detail ?? String(error.message);
};

const STATUSES = {
  deduplicated: (stamp) =>
    `Another address verified the same account first. It counts there until ${day(stamp.until)} or longer.`,
  expired: (stamp) => `Expired on ${day(stamp.expires_at)}. Verify it again.`,
  no_weight: () => "This score does not use this Stamp.",
  not_yet_valid: () => "It is not valid yet.",
};

const CAUSES = {
  first_answer: () => "Your score was computed for the first time.",
  stamp_added: (cause) => `${cause.stamp} was added.`,
  stamp_expired: (cause) => `${cause.stamp} expired.`,
  stamp_removed: (cause) => `${cause.stamp} was revoked by its issuer, or removed.`,
  claimed_by_another_address: (cause) => `Another address holds the account behind ${cause.stamp}.`,
  claim_ended: (cause) => `No other address holds the account behind ${cause.stamp} anymore.`,
  weight_changed: (cause) => `The points for ${cause.stamp} changed from ${plain(cause.before)} to ${plain(cause.after)}.`,
  kept_weight_ended: (cause) => `${cause.stamp} was renewed and now has ${points(cause.after)}.`,
  threshold_changed: (cause) =>
    `The points needed to pass changed from ${plain(cause.before)} to ${plain(cause.after)}.`,
  erased: () => "Everything stored about this address was erased.",
};

const plain = (amount) => String(Number(amount));
const unit = (amount) => (Number(amount) === 1 ? "point" : "points");
const points = (amount) => `${plain(amount)} ${unit(amount)}`;
const day = (time) => new Date(time).toLocaleDateString(undefined, { dateStyle: "medium" });

function element(name, text, className = "") {
  const made = document.createElement(name);
  made.textContent = text;
  if (className) made.className = className;
  return made;
}

function list(name, items, empty) {
  const rows = items.length > 0 ? items : [[element("span", empty, "dim")]];
  part(name).replaceChildren(
    ...rows.map((parts) => {
      const row = document.createElement("li");
      parts.forEach((one, index) => row.append(...(index > 0 ? [" ", one] : [one])));
      return row;
    }),
  );
}

function say(text, isBad = false) {
  const status = part("status");
  status.textContent = text;
  status.className = isBad ? "problem" : "hint";
}

async function ask(method, path, body) {
  const headers = { "Content-Type": "application/json" };
  if (token) headers.Authorization = `Bearer ${token}`;
  const options = { method, headers, credentials: "omit", cache: "no-store" };
  if (body) options.body = JSON.stringify(body);
  let response;
  try {
    response = await fetch(base + path, options);
  } catch (cause) {
    const detail = "The server cannot be reached. Check your connection and try again.";
    throw new WidgetFailure("offline", { detail }, { cause });
  }
  if (response.status === 204) return undefined;
  const answer = await response.json().catch(() => undefined);
  if (response.ok && answer) return answer;
  if (response.status === 429) {
    const seconds = response.headers.get("Retry-After") ?? "60";
    throw new WidgetFailure("limited", { detail: `Too many requests. Try again in ${seconds} seconds.` });
  }
  const failed = `The server failed (status ${response.status}). Try again later.`;
  const detail = typeof answer?.detail === "string" ? answer.detail : failed;
  throw new WidgetFailure(answer?.code ?? "server", { detail });
}

/** Shows an error where the holder asked. If the session has ended, the page offers to sign in. */
function fail(status, error) {
  if (error.code === "session_needed") {
    token = undefined;
    part("sign-in").hidden = false;
  }
  status.textContent = problem(error);
  status.className = "problem";
}

async function signIn(wallet) {
  say("Answer the request in your wallet.");
  try {
    const { address, chainId } = await account(wallet.provider);
    const { message } = await ask("POST", "/nonce", { address, chain_id: chainId });
    const signature = await signMessage(wallet.provider, address, message);
    ({ token } = await ask("POST", "/session", { message, signature }));
    say("Checking your score.");
    show(await ask("POST", "/check"));
    say("");
  } catch (error) {
    token = undefined;
    say(problem(error), true);
  }
}

function show(check) {
  const named = (stamp) => [
    element("span", stamp.name, "mono"),
    element("span", points(stamp.points), "badge plain"),
  ];
  part("score").textContent = plain(check.score);
  part("needed").textContent = `of ${plain(check.threshold)}`;
  part("address").textContent = check.address;
  const verdict = part("verdict");
  verdict.textContent = check.passing ? "You pass" : "You do not pass yet";
  verdict.className = `badge large ${check.passing ? "green" : "amber"}`;
  const needed = `You need ${plain(check.missing)} more ${unit(check.missing)}.`;
  part("missing").textContent = Number(check.missing) > 0 ? needed : "";
  const counts = (stamp) => stamp.status === "counts" || stamp.status === "keeps_weight";
  const until = (stamp) =>
    stamp.status === "keeps_weight"
      ? `Keeps its earlier points until ${day(stamp.expires_at)}. A renewal has ${points(stamp.weight)}.`
      : `Counts until ${day(stamp.expires_at)}.`;
  const counted = (stamp) => [...named(stamp), element("span", until(stamp), "sub")];
  list("counts", check.stamps.filter(counts).map(counted), "No Stamp counts yet.");
  const idle = (stamp) => [
    element("span", stamp.name, "mono"),
    element("span", STATUSES[stamp.status]?.(stamp) ?? stamp.status, "sub"),
  ];
  const noneIdle = check.stamps.length > 0 ? "All your Stamps count." : "You have no Stamps yet.";
  list("not", check.stamps.filter((stamp) => !counts(stamp)).map(idle), noneIdle);
  const help = (stamp) => {
    // Its button says how to get a Stamp that is issued here.
    const about = (!stamp.issued_here && stamp.how) || stamp.description;
    const words = [stamp.platform, about].filter(Boolean).join(": ");
    const way = stamp.issued_here ? [request(stamp)] : stamp.url ? [link(stamp)] : [];
    return [...named(stamp), element("span", words, "sub"), ...way];
  };
  list("help", check.suggestions.map(help), "You have every Stamp that gives points.");
  const change = ({ at, causes }) => [
    element("span", day(at), "dim"),
    element("span", causes.map((cause) => CAUSES[cause.cause]?.(cause) ?? cause.cause).join(" ")),
  ];
  list("changes", check.changes.map(change), "No changes yet.");
  showReview(check.review);
  part("sign-in").hidden = true;
  part("result").hidden = false;
  document.querySelector("#score-title").focus();
}

/** The page where a Stamp is issued. The server lets only https URLs through. */
function link({ url, platform, name }) {
  const anchor = element("a", `Get it at ${platform ?? name}`);
  anchor.href = url;
  anchor.rel = "noopener noreferrer";
  return anchor;
}

const ITEMS = { token_ids: "Token ids, separated by spaces", attestation: "UID of the attestation" };

/** A form that asks this server for a Stamp. */
function request({ name, issued_here }) {
  const form = element("form", "", "inline");
  const button = element("button", "Get it here", "button small");
  const status = element("span", "", "sub");
  status.setAttribute("role", "status");
  button.setAttribute("aria-label", `Get it here: ${name}`);
  if (ITEMS[issued_here]) {
    const label = element("label", ITEMS[issued_here]);
    const field = element("input", "", "mono");
    Object.assign(field, { name: "items", required: true, autocomplete: "off", spellcheck: false });
    label.append(field);
    form.append(label);
  }
  form.append(button, status);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const items = (form.elements.items?.value ?? "").split(/[\s,]+/).filter(Boolean);
    requestStamp({ provider: name, items }, button, status);
  });
  return form;
}

async function requestStamp(stamp, button, status) {
  button.disabled = true;
  status.className = "sub";
  status.textContent = "Checking.";
  try {
    const [{ error }] = (await ask("POST", "/issue", { stamps: [stamp] })).items;
    if (error) throw new WidgetFailure(error.code, { detail: error.detail });
    show(await ask("POST", "/check"));
    say(`You have ${stamp.provider}.`);
  } catch (error) {
    button.disabled = false;
    fail(status, error);
  }
}

function showReview(review) {
  const words = {
    open: () => `You asked for a review on ${day(review.created_at)}. It is not decided yet.`,
    granted: () => `Granted on ${day(review.decided_at)}: ${review.answer}`,
    declined: () => `Declined on ${day(review.decided_at)}: ${review.answer}`,
  };
  part("review").textContent = review ? words[review.state]() : "";
  part("review-form").hidden = review?.state === "open";
}

async function askForReview(event) {
  event.preventDefault();
  const form = event.currentTarget;
  const status = part("review-status");
  try {
    showReview(await ask("POST", "/review", { reason: form.elements.reason.value.replaceAll("\r\n", "\n") }));
    form.reset();
    status.textContent = "";
    document.querySelector("#review-title").focus();
  } catch (error) {
    fail(status, error);
  }
}

async function signOut() {
  const ended = ask("DELETE", "/session").catch(() => undefined);
  token = undefined;
  part("result").hidden = true;
  part("sign-in").hidden = false;
  document.querySelector("#sign-in-title").focus();
  await ended;
  say("Signed out.");
}

let offered;

/** Shows a button for each wallet. The same wallets are not shown again, so no button loses its focus. */
function offerWallets() {
  const wallets = findWallets();
  const ids = wallets.map(({ id }) => id).join(" ");
  if (ids === offered) return;
  offered = ids;
  const buttons = wallets.map((wallet) => {
    const button = element("button", wallets.length > 1 ? `Sign in with ${wallet.name}` : "Sign in", "button primary");
    button.type = "button";
    button.addEventListener("click", () => signIn(wallet));
    return button;
  });
  const advice = "This browser has no wallet. Install one and reload, or open this page in your wallet's own browser.";
  const none = element("span", advice);
  part("wallets").replaceChildren(...(buttons.length > 0 ? buttons : [none]));
}

part("review-form").addEventListener("submit", askForReview);
part("sign-out").addEventListener("click", signOut);
if (page.dataset.origin === location.origin) {
  offerWallets();
  // Wallets that inject themselves late.
  window.addEventListener("load", () => setTimeout(offerWallets, 300));
} else {
  // The server answers only its own origin, and a signed message names it.
  part("elsewhere").hidden = false;
  part("sign-in").hidden = true;
}
