// The score of an address, for the page. Anyone may ask: add your own sign-in or limit here.

import { ResponseError } from "@pyxis/sdk";

import { connect } from "../../../pyxis";

const headers = { "cache-control": "no-store" };

export async function GET(request: Request, { params }: { params: Promise<{ address: string }> }): Promise<Response> {
  const { address } = await params;
  try {
    const { pyxis, scorerId } = connect();
    return Response.json(await pyxis.score(scorerId, address, { signal: request.signal }), { headers });
  } catch (error) {
    return describe(error);
  }
}

/** Tells the page what its visitor can do about a failure. The rest goes to the log. */
function describe(error: unknown): Response {
  if (error instanceof ResponseError && error.status === 400) {
    return Response.json({ detail: error.detail }, { status: 400, headers });
  }
  console.error(error instanceof Error ? error.message : error);
  return Response.json({ detail: "The score cannot be read now. Try again later." }, { status: 502, headers });
}
