import { once } from "node:events";
import { createServer, request as httpRequest, type IncomingMessage, type Server } from "node:http";
import { connect } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { closeServer, listenLocal } from "#scripts/local/process/local-server.ts";

/** What a server sees of the User-Agent, in each of the ways to read it. */
interface Seen {
  header: string | undefined;
  raw: string[];
  distinct: string[] | undefined;
}

function seenBy(request: IncomingMessage): Seen {
  const raw = request.rawHeaders.filter((_, index, all) => index % 2 === 1 && all[index - 1]?.toLowerCase() === "user-agent");
  return { header: request.headers["user-agent"], raw, distinct: request.headersDistinct["user-agent"] };
}

let server: Server;
let url: string;
beforeAll(async () => {
  server = createServer((request, response) => response.end(JSON.stringify(seenBy(request))));
  url = await listenLocal(server, "floods");
});
afterAll(() => closeServer(server));

async function ask(headers: Record<string, string | string[]>): Promise<Seen> {
  const request = httpRequest(url, { headers });
  request.end();
  const [response] = (await once(request, "response")) as [IncomingMessage];
  return JSON.parse((await response.toArray()).join(""));
}

// Guarantee: nobody spends our CPU with a header. Mutation: leave the preload out of vitest.config.ts.
test.each([7_500, 15_000])("a User-Agent of %i characters reaches no reader of the request with more than 512", async (size) => {
  const cut = "a".repeat(512);
  expect(await ask({ "user-agent": "a".repeat(size) })).toEqual({ header: cut, raw: [cut], distinct: [cut] });
});

test("of thirty User-Agents of 512 characters, in any spelling, one keeps its text", async () => {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const lines = Array.from({ length: 30 }, (_, index) => `${index % 2 ? "USER-agent" : "User-Agent"}: ${String(index % 10).repeat(512)}`);
  socket.end(`GET / HTTP/1.1\r\nHost: ${hostname}\r\nConnection: close\r\n${lines.join("\r\n")}\r\nX-After: 1\r\n\r\n`);
  const answer = (await socket.toArray()).join("");
  const first = "0".repeat(512);
  const all = [first, ...Array.from({ length: 29 }, () => "")];
  expect(JSON.parse(answer.slice(answer.indexOf("{"), answer.lastIndexOf("}") + 1))).toEqual({ header: first, raw: all, distinct: all });
});

test("a request that asks to continue first is cut too", async () => {
  const cut = "b".repeat(512);
  expect(await ask({ "user-agent": "b".repeat(9_000), expect: "100-continue" })).toEqual({ header: cut, raw: [cut], distinct: [cut] });
});

test("a short User-Agent and a request without one stay as they are", async () => {
  expect(await ask({ "user-agent": "short" })).toEqual({ header: "short", raw: ["short"], distinct: ["short"] });
  expect(await ask({})).toEqual({ raw: [] });
});
