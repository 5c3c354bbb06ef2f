// The route of an application: it keeps the key, and adds nothing but the score.

import { once } from "node:events";
import { createServer } from "node:http";

/** Serves scores of `read` at `/{address}`. Returns the address and a function that ends it. */
export async function serveRoute(read) {
  const server = createServer(async (request, response) => {
    const reply = (status, value) => {
      response.writeHead(status, { "content-type": "application/json", "access-control-allow-origin": "*" });
      response.end(JSON.stringify(value));
    };
    try {
      reply(200, await read(decodeURIComponent(request.url.slice(1))));
    } catch (error) {
      reply(error.status ?? 502, { detail: error.detail ?? "unknown" });
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const end = () => {
    server.closeAllConnections();
    server.close();
  };
  return [`http://127.0.0.1:${server.address().port}`, end];
}
