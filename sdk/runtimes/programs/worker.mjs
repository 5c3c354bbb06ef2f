// The visit as a worker at the edge. The query says whom to visit; its answer is what it saw.

import { Pyxis } from "./sdk/index.js";
import { Verification } from "./sdk/verification.js";
import { visit } from "./visit.mjs";

export default {
  async fetch(request) {
    const options = Object.fromEntries(new URL(request.url).searchParams);
    try {
      return Response.json(await visit({ Pyxis, Verification }, options));
    } catch (error) {
      return Response.json({ failed: `${error.stack}` }, { status: 500 });
    }
  },
};
