import { execFile } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { POST as callEvent } from "#app/api/call-event/route.ts";
import { callExample } from "#lib/ingest/call-examples.ts";
import { closeServer, listenLocal, readBody } from "#scripts/local/process/local-server.ts";
import { type IngestApp, startIngestApp } from "#tests/support/ingest-app.ts";
import { send } from "#tests/support/requests.ts";

const run = promisify(execFile);
let app: IngestApp;
let appUrl: string;
const server = createServer(async (request, response) => {
  const body = (await readBody(request)).toString("utf8");
  const { connection: _connection, "content-length": _length, ...headers } = request.headers;
  const answer = await send(callEvent, { path: request.url ?? "", body, headers: headers as Record<string, string> }); // each comes once
  response.writeHead(answer.status, { "content-type": "application/json" }).end(await answer.text());
});
beforeAll(async () => {
  app = await startIngestApp({ worker: "asleep" });
  appUrl = await listenLocal(server, "call events");
});
afterAll(async () => {
  await closeServer(server);
  await app.stop();
});

// Guarantee: what the setup page gives to paste works as it stands, once the secret is filled in. PHP is not on every machine and is not run here.
test.each(["curl", "node"] as const)(
  "the example in %s signs a call that is taken; with another secret it is refused",
  async (language) => {
    const site = await app.newSite();
    const example = callExample(language, { appUrl, siteId: site.siteId });
    const answerWith = async (secret: string) => {
      const text = example.replace("paste your call secret here", secret);
      const file = join(mkdtempSync(join(tmpdir(), "call-")), language === "curl" ? "call.sh" : "call.mjs");
      writeFileSync(file, text);
      return (await run(language === "curl" ? "bash" : process.execPath, [file])).stdout;
    };
    expect(await answerWith(site.callSecret)).toContain('"ok":true');
    expect(await answerWith("wrong")).toContain("INVALID_SIGNATURE");
  },
);
