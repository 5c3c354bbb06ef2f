// Adds an agent key to every request that has none, because the suite cannot send one. Arguments: the server's URL and
// the key. Prints its own URL.

import http from "node:http";

const [target, key] = process.argv.slice(2);
const { hostname, port, host } = new URL(target);

const server = http.createServer((request, response) => {
  const headers = { ...request.headers };
  headers.authorization ??= `Bearer ${key}`;
  // The suite reaches the server by the proxy's name; an origin of the proxy stands for the server's own.
  if (headers.origin === `http://${headers.host}`) headers.origin = `http://${host}`;
  const onward = http.request({ hostname, port, method: request.method, path: request.url, headers }, (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    answer.pipe(response);
  });
  onward.on("error", () => response.destroy());
  response.on("close", () => onward.destroy());
  request.pipe(onward);
});

server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
