// A page of another origin than the server's, which loads the package without a bundler.

import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join, normalize } from "node:path";

const PAGE = `<!doctype html><html lang="en"><title>Page</title>
<script type="importmap">{"imports":{
  "@pyxis/sdk": "/node_modules/@pyxis/sdk/dist/index.js",
  "@pyxis/sdk/verification": "/node_modules/@pyxis/sdk/dist/verification.js"
}}</script></html>`;

/** Serves the page and the modules of a folder. Returns the origin and a function that ends it. */
export async function servePage(directory) {
  const server = createServer(async (request, response) => {
    if (request.url === "/") return response.writeHead(200, { "content-type": "text/html" }).end(PAGE);
    const path = join(directory, normalize(new URL(request.url, "http://page").pathname));
    const module = await readFile(path).catch(() => null);
    if (module) return response.writeHead(200, { "content-type": "text/javascript" }).end(module);
    response.writeHead(204).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const end = () => {
    server.closeAllConnections();
    server.close();
  };
  return [`http://127.0.0.1:${server.address().port}`, end];
}
