import { ConfigurationError } from "./errors.js";

/** Names and addresses of this machine: what is sent there crosses no network. */
const LOOPBACK = /^(localhost|.+\.localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/**
 * Checks the address of a server and returns it without a slash at its end. A key goes over https, or to this machine:
 * anyone on the way of a plain http request can read it and use it.
 */
export function parseEndpoint(url: string | URL | undefined, sendsKey: boolean): string {
  const parsed = parseUrl(url);
  if (parsed.protocol !== "https:" && parsed.protocol !== "http:") {
    throw new ConfigurationError(`url must begin with https:// or http://, not ${parsed.protocol}`);
  }
  if (parsed.username || parsed.password) {
    throw new ConfigurationError("url must not contain a user name or password: pass the key as an option");
  }
  if (parsed.search || parsed.hash) throw new ConfigurationError("url must not have a query or a fragment");
  if (sendsKey && parsed.protocol === "http:" && !LOOPBACK.test(parsed.hostname)) {
    throw new ConfigurationError(
      `the key is not sent to http://${parsed.host}: anyone on the way could read it. ` +
        "Use https://, or a loopback address such as http://127.0.0.1:8700",
    );
  }
  return parsed.origin + parsed.pathname.replace(/\/+$/, "");
}

function parseUrl(url: string | URL | undefined): URL {
  if (!url) throw new ConfigurationError("url is missing: pass the address of the server, such as https://pyxis.example.com");
  try {
    return new URL(url);
  } catch {
    // The text may hold a password, so it is not repeated.
    throw new ConfigurationError("url is not a URL: it looks like https://pyxis.example.com");
  }
}
