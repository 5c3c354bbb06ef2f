import { fromBase64, toHeaderValue } from "./bytes.js";
import type { KeptResponse } from "./types.js";

/** Statuses whose responses have no body, by the standard of `fetch`. */
const WITHOUT_BODY = [204, 205, 304];

/** Makes a `Response` of what the server kept of the target's response. */
export function toResponse(kept: KeptResponse): Response {
  const { body, body_encoding: encoding, headers: lines, headers_base64: raw = [], status } = kept;
  const isRaw = new Set(raw.map(({ index }) => index));
  const headers = new Headers();
  lines.forEach(([name, value], index) => {
    headers.append(name ?? "", isRaw.has(index) ? (value ?? "") : toHeaderValue(value ?? ""));
  });
  const bytes = encoding === "base64" ? fromBase64(body) : body;
  return new Response(WITHOUT_BODY.includes(status) ? null : bytes, { status, headers });
}
