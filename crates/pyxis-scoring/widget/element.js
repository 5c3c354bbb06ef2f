const Base = globalThis.HTMLElement ?? class {};

/** Failures after which the same click can help. */
const FINAL = new Set(["setup", "noWallet"]);

/**
 * `<pyxis-passport server scorer publishable-key>`: connects a wallet, signs its holder in, shows the score and sends the
 * signed result to the page as the event `pyxis-result`.
 */
export class PyxisPassport extends Base {
  static observedAttributes = ["server", "scorer", "publishable-key", "lang", "issuer-url"];

  #root;
  #card;
  #status;
  #server;
  #wallet;
  #info;
  #state = { name: "idle" };
  #messages = {};
  #links = {};
  #run = 0;

  /** Text made up by the page's server, which the signed result answers. Or a function that fetches one. */
  challenge = undefined;
  /** Wallet to use instead of those of the browser (EIP-1193). */
  provider = undefined;

  /** Texts that replace the built-in ones, by name. */
  get messages() {
    return this.#messages;
  }

  set messages(texts) {
    this.#messages = { ...texts };
    this.#render();
  }

  /** Where to get the Stamps of a platform: URLs by the platform's id. */
  get issuerLinks() {
    return this.#links;
  }

  set issuerLinks(links) {
    this.#links = { ...links };
    this.#render();
  }

  /** Name of what is shown: `idle`, `choosing`, `waiting`, `ready` or `failed`. */
  get state() {
    return this.#state.name;
  }

  connectedCallback() {
    if (!this.#root) {
      this.#root = this.attachShadow({ mode: "open" });
      this.#root.adoptedStyleSheets = [styleSheet()];
      this.#status = h("p", { class: "sr", role: "status" });
      this.#card = h("section", { class: "card", part: "card" });
      this.#root.append(this.#card, this.#status);
    }
    this.#render();
  }

  disconnectedCallback() {
    this.#leave();
    this.#state = { name: "idle" };
  }

  attributeChangedCallback(name, before, after) {
    if (before === after || !this.#root) return;
    if (name === "lang" || name === "issuer-url") this.#render();
    else this.reset();
  }

  /** Connects a wallet. With several in the browser, the holder chooses. */
  async connect() {
    const wallets = this.provider ? [{ id: "page", name: "Wallet", provider: this.provider }] : findWallets();
    if (wallets.length === 0) return this.#fail(new WidgetFailure("noWallet"));
    if (wallets.length > 1) return this.#show({ name: "choosing", wallets });
    return this.#signIn(wallets[0]);
  }

  /** Reads the score again. Signs in again if the session has ended. */
  async refresh() {
    const wallet = this.#wallet;
    if (!wallet) return this.connect();
    if (!this.#server?.isSignedIn) return this.#signIn(wallet);
    return this.#attempt(() => this.#load());
  }

  /** Ends the session and forgets the wallet. */
  async signOut() {
    const server = this.#server;
    this.reset();
    this.#tell("pyxis-signed-out", {});
    await server?.signOut();
  }

  /** Returns to the start without a request. */
  reset() {
    this.#leave();
    this.#show({ name: "idle" });
  }

  #leave() {
    this.#run += 1;
    this.#wallet?.provider.removeListener?.("accountsChanged", this.#accountsChanged);
    this.#wallet = undefined;
    this.#server = undefined;
  }

  #accountsChanged = () => {
    const server = this.#server;
    this.#leave();
    server?.signOut();
    this.#fail(new WidgetFailure("changed"));
  };

  #signIn(wallet) {
    this.#leave();
    return this.#attempt(async (isCurrent) => {
      this.#server = new ScoreServer(
        this.getAttribute("server") ?? "",
        this.getAttribute("scorer") ?? "",
        this.getAttribute("publishable-key") ?? "",
      );
      const server = this.#server;
      this.#wallet = wallet;
      this.#show({ name: "waiting", text: "connecting" });
      this.#info = await server.view();
      const { address, chainId } = await account(wallet.provider);
      if (!isCurrent()) return;
      this.#tell("pyxis-connected", { address, chainId });
      this.#show({ name: "waiting", text: "signing" });
      await server.signIn(address, chainId, (message) => signMessage(wallet.provider, address, message));
      if (!isCurrent()) return void server.signOut();
      wallet.provider.on?.("accountsChanged", this.#accountsChanged);
      await this.#load(isCurrent);
    });
  }

  async #load(isCurrent = () => true) {
    this.#show({ name: "waiting", text: "loading" });
    const given = typeof this.challenge === "function" ? await this.challenge() : this.challenge;
    const record = await this.#server.score(given ?? this.getAttribute("challenge") ?? undefined);
    if (!isCurrent()) return;
    this.#show({ name: "ready", record });
    const { jwt, address, score, threshold, passing_score: passing } = record;
    this.#tell("pyxis-result", { jwt, address, score, threshold, passing });
  }

  /** Asks for a Stamp and shows the new score. Returns why the Stamp is not issued, or nothing. */
  async #request(provider, items) {
    let refusal;
    await this.#attempt(async (isCurrent) => {
      refusal = await this.#server.issue(provider, items);
      if (!refusal && isCurrent()) await this.#load(isCurrent);
    });
    return refusal;
  }

  /** Runs an attempt. What a later one, or leaving the page, has overtaken shows nothing any more. */
  async #attempt(work) {
    const run = (this.#run += 1);
    const isCurrent = () => run === this.#run;
    try {
      await work(isCurrent);
    } catch (error) {
      if (!isCurrent()) return;
      this.#fail(error instanceof WidgetFailure ? error : new WidgetFailure("server", {}, { cause: error }));
      if (!(error instanceof WidgetFailure)) console.error("<pyxis-passport>", error);
    }
  }

  #fail(failure) {
    this.#show({ name: "failed", failure });
    const detail = { code: failure.code, message: this.#translate(failure.code, failure.values) };
    if (failure.code === "setup") console.warn(`<pyxis-passport>: ${failure.values.detail}`);
    this.#tell("pyxis-error", detail);
  }

  #tell(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { bubbles: true, composed: true, detail }));
  }

  #translate(name, values) {
    return translator(languageOf(this).language, this.#messages)(name, values);
  }

  /** A link to get a Stamp: of the page's list, by its pattern, or of the catalogue. Only of the web. */
  #linkOf(stamp, address, known) {
    const values = { platform: stamp.platform ?? "", stamp: stamp.name, address };
    const pattern = this.#links[stamp.platform] ?? this.getAttribute("issuer-url");
    if (!pattern) return known;
    const filled = pattern.replace(/\{(platform|stamp|address)\}/g, (_, name) => encodeURIComponent(values[name]));
    const url = tryUrl(filled);
    return url && /^https?:$/.test(url.protocol) ? url.href : undefined;
  }

  #show(state) {
    this.#state = state;
    this.#render();
  }

  #render() {
    if (!this.#root) return;
    const { tag, language } = languageOf(this);
    const t = translator(language, this.#messages);
    const on = {
      connect: () => this.connect(),
      use: (wallet) => this.#signIn(wallet),
      retry: () => (this.#server?.isSignedIn || this.#state.failure?.code === "expired" ? this.refresh() : this.connect()),
      refresh: () => this.refresh(),
      request: (provider, items) => this.#request(provider, items),
      signOut: () => this.signOut(),
      reset: () => this.reset(),
    };
    const view = new View(t, tag, on, (...stamp) => this.#linkOf(...stamp));
    const hadFocus = this.#root.activeElement !== null;
    this.#card.replaceChildren(...this.#content(view).flat(3).filter(Boolean));
    this.#card.setAttribute("aria-busy", String(this.#state.name === "waiting"));
    this.#card.setAttribute("lang", tag);
    this.#announce(t, view);
    if (hadFocus) this.#focus();
  }

  #content(view) {
    const state = this.#state;
    switch (state.name) {
      case "choosing":
        return view.choosing(state.wallets);
      case "waiting":
        return view.waiting(state.text);
      case "ready":
        return view.ready(state.record, this.#info);
      case "failed":
        return view.failed(state.failure, !FINAL.has(state.failure.code));
      default:
        return view.idle();
    }
  }

  /** Tells a screen reader what has changed, in one sentence. */
  #announce(t, view) {
    const state = this.#state;
    const said = {
      idle: () => "",
      choosing: () => t("choose"),
      waiting: () => t(state.text),
      failed: () => t(state.failure.code, state.failure.values),
      ready: () => {
        const { record } = state;
        const rest = record.passing_score ? t("enough") : t("missing", { points: view.missing(record) });
        return `${t(record.passing_score ? "pass" : "fail")}. ${rest}`;
      },
    };
    const text = said[state.name]();
    if (this.#status.textContent !== text) this.#status.textContent = text;
  }

  /** Keeps the focus inside, at what comes next. */
  #focus() {
    const next = this.#state.name === "ready" ? undefined : this.#card.querySelector("button");
    (next ?? this.#card.querySelector("h2"))?.focus();
  }
}

if (globalThis.customElements && !customElements.get("pyxis-passport")) {
  customElements.define("pyxis-passport", PyxisPassport);
}
