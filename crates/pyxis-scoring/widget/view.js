/** Stamps to add that are shown at once. */
const SHOWN = 4;
/** Texts for what a holder names to get a Stamp of the server. */
const ITEMS = { token_ids: "tokenIds", attestation: "attestation" };
/** Texts for the reasons for which such a Stamp is not issued. */
const OUTCOMES = {
  not_on_list: "notOnList",
  condition_not_met: "notMet",
  invalid_items: "wrongItems",
  no_answer: "noAnswer",
};
const SVG = "http://www.w3.org/2000/svg";

/** An element with attributes and children. Text stays text. */
function h(tag, attributes = {}, ...children) {
  const isSvg = tag === "svg" || tag === "rect";
  const element = isSvg ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== undefined && child !== null && child !== false));
  return element;
}

/** Content of each state. `t` are the texts, `on` the actions. */
class View {
  constructor(t, tag, on, linkOf) {
    this.t = t;
    this.on = on;
    this.linkOf = linkOf;
    this.numbers = new Intl.NumberFormat(tag, { maximumFractionDigits: 2 });
    this.dates = new Intl.DateTimeFormat(tag, { dateStyle: "medium" });
  }

  heading(text = this.t("title")) {
    return h("h2", { part: "heading", tabindex: "-1" }, text);
  }

  button(text, action, isPrimary = false) {
    const parts = isPrimary ? "button button-primary" : "button";
    return h("button", { type: "button", part: parts, class: isPrimary && "primary", click: action }, text);
  }

  idle() {
    return [
      this.heading(),
      h("p", {}, this.t("intro")),
      h("div", { class: "row" }, this.button(this.t("connect"), this.on.connect, true)),
    ];
  }

  choosing(wallets) {
    const buttons = wallets.map((wallet) => this.button(wallet.name, () => this.on.use(wallet)));
    return [
      this.heading(this.t("choose")),
      h("div", { class: "row", role: "group", "aria-label": this.t("choose") }, buttons),
      h("div", { class: "row" }, this.button(this.t("back"), this.on.reset)),
    ];
  }

  waiting(name) {
    return [
      this.heading(),
      h("div", { class: "wait", part: "wait" }, h("span", { class: "spinner", "aria-hidden": "true" }), this.t(name)),
    ];
  }

  failed({ code, values, hint }, canRetry) {
    const about = hint && h("p", { class: "muted", part: "hint", lang: "en" }, hint);
    const retry = canRetry && h("div", { class: "row" }, this.button(this.t("retry"), this.on.retry, true));
    return [this.heading(), h("p", { class: "alert", part: "error" }, this.t(code, values)), about, retry];
  }

  ready(record, info) {
    const [score, threshold] = [Number(record.score), Number(record.threshold)];
    const passes = record.passing_score;
    const said = { score: this.numbers.format(score), threshold: this.numbers.format(threshold) };
    const short = `${record.address.slice(0, 6)}…${record.address.slice(-4)}`;
    return [
      h(
        "div",
        { class: "result" },
        this.heading(),
        h("span", { class: `badge ${passes ? "good" : "bad"}`, part: `badge ${passes ? "pass" : "fail"}` },
          h("span", { "aria-hidden": "true" }, passes ? "✓" : "✕"), h("span", {}, this.t(passes ? "pass" : "fail"))),
      ),
      h("p", { class: "number", part: "score" }, this.t("score", said)),
      this.meter(score, threshold, said),
      h("p", {}, passes ? this.t("enough") : this.t("missing", { points: this.missing(record) })),
      h("p", { class: "muted", title: record.address }, this.t("address", { address: short })),
      this.counting(record, info),
      this.addable(record, info),
      h("div", { class: "row" },
        this.button(this.t("refresh"), this.on.refresh), this.button(this.t("signOut"), this.on.signOut)),
    ];
  }

  /** Points that are missing, rounded up: a rounded number may not look like enough. */
  missing(record) {
    const missing = Number(record.threshold) - Number(record.score);
    return this.numbers.format(Math.ceil(missing * 100 - 1e-6) / 100);
  }

  meter(score, threshold, said) {
    const part = threshold > 0 ? Math.min(score / threshold, 1) : 1;
    const attributes = {
      "class": "meter", "part": "meter", "role": "meter", "viewBox": "0 0 100 10", "preserveAspectRatio": "none",
      "aria-label": this.t("score", said), "aria-valuemin": "0", "aria-valuemax": String(Math.max(threshold, score)),
      "aria-valuenow": String(score),
    };
    const fill = h("rect", { class: "fill", width: String(part * 100), height: "10" });
    return h("svg", attributes, h("rect", { class: "track", width: "100", height: "10" }), fill);
  }

  counting(record, info) {
    const known = new Map(info.stamps.map((stamp) => [stamp.name, stamp]));
    const stamps = Object.entries(record.stamps).filter(([, stamp]) => Number(stamp.score) > 0 || stamp.dedup);
    if (stamps.length === 0) return h("p", { class: "muted" }, this.t("none"));
    const items = stamps.map(([name, { score, dedup, expiration_date: until }]) => {
      const date = this.t("until", { date: this.dates.format(new Date(until)) });
      const stamp = known.get(name) ?? { name };
      const about = [stamp.description, dedup ? this.t("duplicate") : date].filter(Boolean).join(" · ");
      return this.item(stamp, info, score, about, dedup && "off");
    });
    return [h("h3", { id: "counts" }, this.t("counts")), h("ul", { "part": "stamps", "aria-labelledby": "counts" }, items)];
  }

  addable(record, info) {
    const has = (name) => Number(record.stamps[name]?.score ?? 0) > 0 || record.stamps[name]?.dedup;
    const missing = info.stamps.filter((stamp) => !has(stamp.name));
    if (record.passing_score || missing.length === 0) return undefined;
    const ways = missing.map((stamp) => {
      if (stamp.issued_here) return this.request(stamp);
      const href = this.linkOf(stamp, record.address, info.platforms[stamp.platform]?.url);
      return href && h("a", { part: "link", href, target: "_blank", rel: "noopener noreferrer" },
        this.t("get"), h("span", { class: "sr" }, ` ${stamp.name} ${this.t("newTab")}`));
    });
    const items = missing.map((stamp, at) =>
      this.item(stamp, info, stamp.weight, stamp.description, undefined, ways[at]));
    const list = (some, label) => h("ul", { "part": "stamps", "aria-label": label }, some);
    // Without a link or a button, the heading must not promise a way to get one.
    const more = this.t(ways.some(Boolean) ? "more" : "others");
    const rest = items.slice(SHOWN);
    return [
      h("h3", {}, more),
      list(items.slice(0, SHOWN), more),
      rest.length > 0 && h("details", {}, h("summary", {}, this.t("all", { count: items.length })), list(rest, more)),
    ];
  }

  /** A form that asks the server for a Stamp of its own. */
  request({ name, issued_here: kind }) {
    const wanted = ITEMS[kind];
    const field = wanted && h("input", { part: "field", name: "items", required: true, autocomplete: "off", spellcheck: "false" });
    const said = h("span", { class: "muted", role: "status" });
    let isAsking = false;
    const submit = async (event) => {
      event.preventDefault();
      // The button stays enabled: a disabled one would lose the focus.
      if (isAsking) return;
      isAsking = true;
      said.textContent = this.t("asking");
      const refusal = await this.on.request(name, (field?.value ?? "").split(/[\s,]+/).filter(Boolean));
      said.textContent = refusal ? this.t(OUTCOMES[refusal.code] ?? "notIssued", { detail: refusal.detail }) : "";
      isAsking = false;
    };
    return h("form", { submit },
      wanted && h("label", {}, this.t(wanted), field),
      h("button", { part: "button" }, this.t("getHere"), h("span", { class: "sr" }, ` ${name}`)),
      said);
  }

  item(stamp, info, points, about, className, link) {
    const platform = info.platforms[stamp.platform]?.name;
    // A description tells Stamps of one platform apart; without one, the technical name has to. Own Stamps are known by
    // their names.
    const title = platform && stamp.description && !stamp.issued_here ? platform : stamp.name;
    return h("li", { part: "stamp", class: className },
      h("span", { class: "name" }, title),
      h("span", { class: "points" }, this.t("points", { points: this.numbers.format(Number(points)) })),
      about && h("span", { class: "muted" }, about),
      link);
  }
}

