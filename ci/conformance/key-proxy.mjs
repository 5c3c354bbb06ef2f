// Adds an agent key to every request that has none, because the suite cannot send one. Arguments: the server's URL and
// the key. Prints its own URL.

import http from "node:http";

const [target, key] = process.argv.slice(2);
const { hostname, port, host } = new URL(target);

const server = http.createServer((request, response) => {
  const headers = { ...request.headers };
  headers.authorization ??= `Bearer ${key}`;
  // The suite reaches the server by the proxy's name: the proxy's origin stands for the server's own, and no other does.
  const own = ["127.0.0.1", "localhost"].map((name) => `http://${name}:${server.address().port}`);
  if (own.includes(headers.origin)) headers.origin = `http://${host}`;
  const onward = http.request({ hostname, port, method: request.method, path: request.url, headers }, (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    answer.pipe(response);
  });
  onward.on("error", () => response.destroy());
  response.on("close", () => onward.destroy());
  request.pipe(onward);
});

server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
