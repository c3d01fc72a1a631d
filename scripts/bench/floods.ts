/**
 * What an honest visitor waits while a stranger floods the app, against without the flood: npm run bench:floods
 *   --rounds 5   pairs of turns, one without and one with the flood, of 40 visitors each
 * The attacker is a process of its own with four connections, from one address. It shares the machine with the app, Postgres and Redis, so a part
 * of each ratio is the attacker's own CPU time: read it beside the lines of attackers who ask only for /api/health or for a page.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { parseArgs } from "node:util";
import postgres from "postgres";
import type { SiteId } from "#lib/site.ts";
import { createSite, setCeilings } from "#tests/fixtures/site.ts";
import { createPerson } from "#tests/fixtures/team.ts";
import { startApp } from "../local/app/app-server.ts";
import { buildApp } from "../local/app/build-app.ts";
import { freePort } from "../local/process/free-port.ts";
import { startStack } from "../local/stack.ts";
import { onStage, type Stage } from "./stage.ts";

const browser = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36";
const visitorsPerTurn = 40;
const attackers = 4;

interface Target {
  url: string;
  siteId: SiteId;
  origin: string;
}

interface Shot {
  path: string;
  method?: "GET";
  headers?: Record<string, string>;
  body?: string;
}

const pageView = ({ siteId, origin }: Target, more: Record<string, unknown> = {}) => {
  const id = randomUUID();
  return { s: siteId, u: `${origin}/products`, eid: id, sid: id, ec: "interaction", ea: "view", meta: { fp: id }, ...more };
};
const sync = (target: Target, body: unknown): Shot => ({
  path: "/api/sync",
  headers: { origin: target.origin },
  body: JSON.stringify(body),
});
const p95 = (times: number[]) => times.toSorted((one, other) => one - other)[Math.floor(times.length * 0.95)] ?? 0;
const wide = JSON.stringify({ padding: "p".repeat(60_000) });

/** What a stranger can send who read a site's public id in its page. */
const floods: Record<string, (target: Target) => Shot> = {
  "/api/health, for comparison": () => ({ path: "/api/health", method: "GET" }),
  "random site ids": (target) => sync(target, pageView(target, { s: randomBytes(16).toString("hex") })),
  "batches of 100, forged Origin": (target) =>
    sync(target, { s: target.siteId, events: Array.from({ length: 100 }, () => pageView(target, { s: undefined })) }),
  "addresses of 250 kB": (target) => sync(target, pageView(target, { u: `${target.origin}/?${"gclid=x&".repeat(31_000)}` })),
  "wrong signatures over 60 kB": ({ siteId }) => ({
    path: "/api/call-event",
    headers: { "x-ops-site-id": siteId, "x-ops-ts": String(Math.floor(Date.now() / 1000)), "x-ops-signature": "0".repeat(64) },
    body: wide,
  }),
  "wrong script keys": ({ siteId }) => ({
    path: "/api/oci/v2/verify",
    headers: { "x-api-key": randomBytes(24).toString("hex"), "content-type": "application/json" },
    body: JSON.stringify({ siteId }),
  }),
  "/sign-in, for comparison": () => ({ path: "/sign-in", method: "GET" }),
  "User-Agents of 15 kB": () => ({ path: "/sign-in", method: "GET", headers: { "user-agent": `Mozilla/5.0 ${"(a ".repeat(5000)}` } }),
};

const order = process.argv[2]?.startsWith("{") ? JSON.parse(process.argv[2]) : undefined;
if (order) await attack(order);
else await onStage(bench);

function shoot(target: Target, agent: Agent, address: string, { path, method, headers, body = "" }: Shot): Promise<number> {
  const { hostname: host, port } = new URL(target.url);
  return new Promise((resolve) => {
    const sending = request(
      {
        host,
        port,
        path,
        method: method ?? "POST",
        agent,
        headers: { "user-agent": browser, "content-type": "text/plain", "x-forwarded-for": address, ...headers },
      },
      (response) => response.resume().on("end", () => resolve(response.statusCode ?? 0)),
    );
    sending.on("error", () => resolve(0));
    sending.end(body || undefined);
  });
}

/** The attacker: floods until it is stopped, a minute at the most, and then says how often it got which answer. */
async function attack({ flood, target }: { flood: string; target: Target }): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: attackers });
  const answers: Record<number, number> = {};
  const endAt = Date.now() + 60_000;
  let isOver = false;
  process.once("SIGTERM", () => (isOver = true));
  const make = floods[flood];
  if (!make) throw new Error(`There is no flood called ${flood}.`);
  // Each from an address of its own, so that none is refused for what another one sent.
  const address = `198.51.100.${Object.keys(floods).indexOf(flood)}`;
  process.send?.("ready");
  await Promise.all(
    Array.from({ length: attackers }, async () => {
      while (!isOver && Date.now() < endAt) {
        const status = await shoot(target, agent, address, make(target));
        answers[status] = (answers[status] ?? 0) + 1;
      }
    }),
  );
  process.send?.(answers);
  process.exit(0);
}

async function bench({ stateDir, stopList }: Stage): Promise<void> {
  const { values } = parseArgs({ options: { rounds: { type: "string", default: "5" } } });
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const stack = await startStack({ mode: "demo", stateDir, logDir: stateDir, siteUrl: url, quiet: true });
  stopList.add(stack.stop);
  await buildApp(stack.watchdog);
  const sql = postgres(stack.adminUrl, { max: 1, onnotice: () => {} });
  stopList.add(() => sql.end());
  const owner = await createPerson(sql, "owner@bench.test");
  const newTarget = async (name: string): Promise<Target> => ({
    url,
    ...(await createSite(sql, owner, { name })),
    origin: `https://${name}.test`,
  });
  const victim = await newTarget("victim");
  const honest = await newTarget("honest");
  await setCeilings(sql, { siteId: honest.siteId, owner });
  const env = { ...stack.env, APP_URL: url, TRUSTED_PROXY: "1" };
  const app = await startApp({ watchdog: stack.watchdog, env, port, url, logPath: join(stateDir, "app.log") });
  stopList.add(app.stop);

  await waits(honest, 200);
  console.log("| flood | p95 ms without | with | ratio | answers to the attacker |\n|---|---|---|---|---|");
  for (const flood of Object.keys(floods)) {
    const [calm, flooded]: [number[], number[]] = [[], []];
    const answers: Record<string, number> = {};
    for (let round = 0; round < Number(values.rounds); round++) {
      calm.push(...(await waits(honest, visitorsPerTurn)));
      const attacker = await startAttacker({ flood, target: victim });
      flooded.push(...(await waits(honest, visitorsPerTurn)));
      for (const [status, times] of Object.entries(await stop(attacker))) answers[status] = (answers[status] ?? 0) + times;
    }
    const said = Object.entries(answers).map(([status, times]) => `${times} × ${status}`);
    const ratio = p95(flooded) / p95(calm);
    console.log(`| ${flood} | ${p95(calm).toFixed(1)} | ${p95(flooded).toFixed(1)} | ${ratio.toFixed(1)} | ${said.join(", ")} |`);
  }
}

/** How long each of so many honest visitors waits, one after the other, each from an address of their own. */
async function waits(honest: Target, visitors: number): Promise<number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const times: number[] = [];
  for (let index = 0; index < visitors; index++) {
    const startedAt = performance.now();
    const status = await shoot(honest, agent, `203.0.113.${index % 250}`, sync(honest, pageView(honest)));
    times.push(performance.now() - startedAt);
    if (status !== 200) throw new Error(`An honest visitor got ${status}.`);
  }
  agent.destroy();
  return times;
}

async function startAttacker(orders: { flood: string; target: Target }): Promise<ChildProcess> {
  const child = spawn(process.execPath, [import.meta.filename, JSON.stringify(orders)], { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  await new Promise((resolve, reject) => child.once("message", resolve).once("exit", reject));
  return child;
}

async function stop(attacker: ChildProcess): Promise<Record<string, number>> {
  const answers = new Promise<Record<string, number>>((resolve) =>
    attacker.once("message", (said) => resolve(said as Record<string, number>)),
  );
  attacker.kill("SIGTERM");
  return answers;
}
