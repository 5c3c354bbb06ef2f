// Receives approval events and checks that they come from Pyxis. Node's own modules only.
// Put it behind whatever ends TLS for you: Pyxis posts to https addresses only.

import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";

/** Seconds by which the time of a signature may differ from ours. */
const TOLERANCE = 300;
const MAX_BODY = 1 << 20;

/** True if `header` signs the raw bytes `body`. While a secret is replaced, there are two v1. */
export function isGenuine(secret: string, header: string, body: Buffer, nowSeconds: number): boolean {
  const parts = header.split(",").map((part) => [part.slice(0, part.indexOf("=")), part.slice(part.indexOf("=") + 1)]);
  const time = parts.find(([name]) => name === "t")?.[1] ?? "";
  if (!/^\d+$/.test(time) || Math.abs(nowSeconds - Number(time)) > TOLERANCE) return false;
  const expected = createHmac("sha256", secret).update(`${time}.`).update(body).digest();
  return parts.some(([name, value]) => {
    const found = Buffer.from(value ?? "", "hex");
    return name === "v1" && found.length === expected.length && timingSafeEqual(found, expected);
  });
}

async function read(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

const secret = process.env["PYXIS_WEBHOOK_SECRET"];
if (!secret) throw new Error("set PYXIS_WEBHOOK_SECRET");

/** Keep these in your database: a delivery can come again after a restart of yours. */
const seen = new Set<string>();

const receive: RequestListener = async (request, response) => {
  const answer = (status: number): void => void response.writeHead(status).end();
  const body = await read(request);
  if (!body) return answer(413);
  const signature = String(request.headers["px-signature"] ?? "");
  if (request.method !== "POST" || !isGenuine(secret, signature, body, Date.now() / 1000)) return answer(401);
  const delivery = String(request.headers["px-delivery"]);
  if (!seen.has(delivery)) {
    seen.add(delivery);
    const event = JSON.parse(body.toString("utf8")) as { event: string; txn_id?: string };
    console.log(JSON.stringify({ delivery, event: event.event, txn_id: event.txn_id ?? null }));
  }
  // Answer soon: after ten seconds it counts as failed and comes again.
  answer(204);
};

const server = createServer(receive);
server.listen(Number(process.env["PORT"] ?? "8080"), "127.0.0.1", () => {
  console.log(JSON.stringify({ port: (server.address() as AddressInfo).port }));
});
