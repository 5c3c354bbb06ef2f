// A server that gives prepared answers in turn, as servers in trouble do.

import { once } from "node:events";
import { createServer } from "node:http";

/**
 * Serves `answers`; the last one stays. Each is [status, headers, value], a function of request and response, or null
 * for silence. `body` gets the address and the requests that came.
 */
export async function withAnswers(answers, body) {
  const arrivals = [];
  const server = createServer(async (request, response) => {
    const answer = answers[Math.min(arrivals.length, answers.length - 1)];
    const arrival = { method: request.method, url: request.url, headers: request.headers, body: "" };
    arrivals.push(arrival);
    request.on("error", () => {});
    for await (const chunk of request) arrival.body += chunk;
    if (typeof answer === "function") return answer(request, response);
    if (!answer) return;
    const [status, headers, value] = answer;
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(typeof value === "string" ? value : JSON.stringify(value));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    await body(`http://127.0.0.1:${server.address().port}`, arrivals);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}
