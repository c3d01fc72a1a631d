import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { GET as proofRoute } from "#app/v1/contract/proofs/[proofId]/route.ts";
import { POST as transitionRoute } from "#app/v1/contract/transition/route.ts";
import { closeServer, listenLocal, readBody } from "#scripts/local/process/local-server.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { newLead } from "#tests/fixtures/leads.ts";
import { type ContractsApp, startContractsApp } from "#tests/support/contracts-app.ts";
import { send } from "#tests/support/requests.ts";
import { sharedStack } from "#tests/support/shared-stack.ts";

const document = readFileSync("docs/api/contracts.md", "utf8");
const run = promisify(execFile);

let app: ContractsApp;
const server = createServer(async (request, response) => {
  const path = request.url ?? "/";
  const proofId = /^\/v1\/contract\/proofs\/([^/]+)$/.exec(path)?.[1];
  const headers = Object.fromEntries(
    Object.entries(request.headers).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
  const body = (await readBody(request)).toString("utf8");
  const answer = proofId
    ? await send(proofRoute, { method: "GET", path, params: { proofId }, headers })
    : await send(transitionRoute, { path, headers, body });
  response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(Buffer.from(await answer.arrayBuffer()));
});
let url: string;
beforeAll(async () => {
  app = await startContractsApp();
  url = await listenLocal(server, "document");
});
afterAll(async () => {
  await closeServer(server);
  await app.stop();
});

/** In the document, "…" stands for a value that is another one each time. */
function fits(shown: Record<string, unknown>, given: Record<string, unknown>): void {
  const known = Object.entries(shown).filter(([, value]) => value !== "…");
  expect(Object.keys(given).sort()).toEqual(Object.keys(shown).sort());
  expect(given).toMatchObject(Object.fromEntries(known));
}

// Guarantee: what a customer copies from the document works.
test("every example answers what the document says, and its receipt is proven by the program in it", async () => {
  const cwd = sharedStack().logDir;
  const env = { ...process.env, OPSMANTIK_URL: url, OPSMANTIK_API_KEY: app.teamKey.key, CALL_ID: await newLead(app.db.sql, app.team) };
  const examples = [...document.matchAll(/```sh\n(.+?)```\n```json\n(.+?)```/gs)];
  expect(examples).toHaveLength(4);
  for (const [, command = "", shown = ""] of examples) {
    const { stdout } = await run("bash", ["-euo", "pipefail", "-c", command], { env, cwd });
    fits(JSON.parse(shown), JSON.parse(stdout));
  }
  const program = document.match(/```js\n(.+?)```/s)?.[1] ?? "";
  writeFileSync(join(cwd, "check.mjs"), program);
  const check = () => run(process.execPath, ["check.mjs", "receipt.json"], { cwd });
  expect((await check()).stdout).toBe("holds\n");
  const receipt = JSON.parse(readFileSync(join(cwd, "receipt.json"), "utf8"));
  writeFileSync(join(cwd, "receipt.json"), JSON.stringify({ ...receipt, to: "junk" }));
  await expect(check()).rejects.toMatchObject({ stdout: "does not hold\n" });
});

// Guarantee: the table of moves is the one that holds.
test("the table of legal moves is SQL's", async () => {
  const shape = z.array(z.object({ contract: z.string(), from: z.string(), to: z.string(), undoOnly: z.boolean() }));
  const moves = shape.parse(await callAs(app.db.sql, app.team.viewer, (tx) => tx`select public.list_contract_moves()`));
  const rows = [...document.matchAll(/^\| `(call|sale|conversion)` \| `(\w+)` \| (.+) \|$/gm)];
  const shown = rows.flatMap(([, contract, from, list = ""]) =>
    [...list.matchAll(/`(\w+)`/g)].map(([, to]) => `${contract} ${from} ${to}`),
  );
  expect(shown).toEqual(moves.filter(({ undoOnly }) => !undoOnly).map(({ contract, from, to }) => `${contract} ${from} ${to}`));
});
