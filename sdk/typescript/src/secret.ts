import { ConfigurationError } from "./errors.js";

/** Key that no log shows: it is private to the language, and its text and JSON are a placeholder. */
export class Secret {
  readonly #value: string;

  /** Refuses text that no header holds, without repeating it: the errors of `fetch` would show the key. */
  constructor(option: string, value: string | undefined) {
    if (!value) throw new ConfigurationError(`${option} is missing or empty`);
    if (!/^[\x21-\x7e]+$/.test(value)) {
      throw new ConfigurationError(`${option} has a space, a line end or another character that no key has`);
    }
    this.#value = value;
  }

  /** Reads the key, for a request header. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return "[redacted]";
  }

  toJSON(): string {
    return "[redacted]";
  }
}
