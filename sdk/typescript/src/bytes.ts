/** Text as a header holds it: one character for each byte of its UTF-8. `fetch` takes no others. */
export function toHeaderValue(text: string): string {
  return Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join("");
}

/** Bytes of base64. Not every runtime has `Uint8Array.fromBase64`. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}
