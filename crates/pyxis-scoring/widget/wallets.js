/** Announced wallets (EIP-6963) by their id. */
const announced = new Map();

if (globalThis.addEventListener) {
  globalThis.addEventListener("eip6963:announceProvider", (event) => {
    const { info, provider } = event.detail ?? {};
    if (info?.uuid && typeof provider?.request === "function") {
      announced.set(info.uuid, { id: info.uuid, name: String(info.name ?? "Wallet"), provider });
    }
  });
}

/** The wallets of this browser. Wallets answer the request before it returns. */
function findWallets() {
  globalThis.dispatchEvent(new Event("eip6963:requestProvider"));
  if (announced.size > 0) return [...announced.values()];
  const injected = globalThis.ethereum;
  return typeof injected?.request === "function" ? [{ id: "injected", name: "Browser wallet", provider: injected }] : [];
}

/** A failure that the holder can read about: `code` names the text. `hint` is for the page's developer, in English. */
class WidgetFailure extends Error {
  constructor(code, values = {}, { cause, hint } = {}) {
    super(values.detail ?? code, { cause });
    this.code = code;
    this.values = values;
    this.hint = hint;
  }
}

/** A request to a wallet; its refusals by their numbers (EIP-1193). */
async function askWallet(provider, method, params = []) {
  try {
    return await provider.request({ method, params });
  } catch (cause) {
    const number = cause?.code ?? cause?.data?.originalError?.code;
    if (number === 4001 || number === "ACTION_REJECTED") throw new WidgetFailure("rejected", {}, { cause });
    if (number === -32002) throw new WidgetFailure("busy", {}, { cause });
    const detail = String(cause?.message ?? cause).slice(0, 200);
    throw new WidgetFailure("walletFailed", { detail }, { cause });
  }
}

/** The account and the chain of a wallet, after the holder agreed. */
async function account(provider) {
  const accounts = await askWallet(provider, "eth_requestAccounts");
  const address = Array.isArray(accounts) ? accounts[0] : undefined;
  if (!/^0x[0-9a-fA-F]{40}$/.test(address ?? "")) throw new WidgetFailure("rejected");
  const chain = await askWallet(provider, "eth_chainId");
  const chainId = Number(chain);
  if (!Number.isSafeInteger(chainId) || chainId < 1) {
    throw new WidgetFailure("walletFailed", { detail: `chain id ${String(chain).slice(0, 40)}` });
  }
  return { address: address.toLowerCase(), chainId };
}

/** The signature of a message (EIP-191). */
async function signMessage(provider, address, message) {
  const bytes = new TextEncoder().encode(message);
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  const signature = await askWallet(provider, "personal_sign", [`0x${hex}`, address]);
  if (!/^0x([0-9a-fA-F]{2})*$/.test(signature ?? "")) throw new WidgetFailure("signature");
  return signature;
}

