/** Provider of a wallet (EIP-1193). */
export interface WalletProvider {
  request(request: { method: string; params?: unknown[] }): Promise<unknown>;
  on?(event: string, listener: (...values: unknown[]) => void): unknown;
  removeListener?(event: string, listener: (...values: unknown[]) => void): unknown;
}

/** The score of the holder who signed in. */
export interface PassportResult {
  /** Signed result, for the page's server. Absent if the score could be computed only in part. */
  jwt?: string;
  address: string;
  /** Five decimals. */
  score: string;
  /** Five decimals. */
  threshold: string;
  passing: boolean;
}

/** Events of the element. All bubble. */
export interface PassportEvents {
  "pyxis-connected": CustomEvent<{ address: string; chainId: number }>;
  "pyxis-result": CustomEvent<PassportResult>;
  "pyxis-error": CustomEvent<{ code: string; message: string }>;
  "pyxis-signed-out": CustomEvent<Record<string, never>>;
}

/** The element `<pyxis-passport>`. Importing this module defines it. */
export class PyxisPassport extends HTMLElement {
  /** Text made up by the page's server, or a function that fetches one for each result. */
  challenge: string | (() => string | Promise<string>) | undefined;
  /** Wallet to use instead of those of the browser. */
  provider: WalletProvider | undefined;
  /** Texts that replace the built-in ones, by name. */
  messages: Record<string, string>;
  /** URLs to get Stamps, by the platform's id. */
  issuerLinks: Record<string, string>;
  readonly state: "idle" | "choosing" | "waiting" | "ready" | "failed";
  connect(): Promise<void>;
  refresh(): Promise<void>;
  signOut(): Promise<void>;
  reset(): void;
  addEventListener<K extends keyof PassportEvents>(
    name: K,
    listener: (this: PyxisPassport, event: PassportEvents[K]) => unknown,
    options?: boolean | AddEventListenerOptions,
  ): void;
  addEventListener(
    name: string,
    listener: EventListenerOrEventListenerObject,
    options?: boolean | AddEventListenerOptions,
  ): void;
}

declare global {
  interface HTMLElementTagNameMap {
    "pyxis-passport": PyxisPassport;
  }
}
