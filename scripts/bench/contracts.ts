/**
 * How many moves a second the contract kernel makes through the service door, for one site and for many: node scripts/bench/contracts.ts
 *   --seconds 2   length of one burst     --rounds 3   interleaved rounds; the median counts
 * Each caller moves a call of its own, so what one site loses against many is due to a lock that its moves share.
 * Load and Postgres share this machine: read the ratios, which come from the same minutes, not the absolute figures.
 */

import { randomUUID } from "node:crypto";
import { parseArgs } from "node:util";
import type postgres from "postgres";
import { postgresTransport } from "#lib/db/postgres-transport.ts";
import { newLead } from "#tests/fixtures/leads.ts";
import { createKey, createSite, type Site } from "#tests/fixtures/site.ts";
import { createPerson, type Person } from "#tests/fixtures/team.ts";
import { onStage, type Stage, startDatabase } from "./stage.ts";

const { values: options } = parseArgs({ options: { seconds: { type: "string", default: "2" }, rounds: { type: "string", default: "3" } } });
const burstMs = Number(options.seconds) * 1000;
const rounds = Number(options.rounds);
const callerCounts = [1, 8, 32];
const callersMax = 32;

/** Two states that a call can go between for ever: a stage of the desk, and a seal with sale, ledger and queue. */
const dances = { stage: ["qualified", "meeting"], seal: ["sealed", "cancelled"] } as const;
type Dance = keyof typeof dances;

interface Caller {
  keyId: string;
  callId: string;
  moves: number;
}

await onStage(bench);

async function bench(stage: Stage): Promise<void> {
  const { sql, appUrl } = await startDatabase(stage);
  const owner = await createPerson(sql, "owner@bench.test");
  const sites = [];
  for (let index = 0; index < callersMax; index++) sites.push(await makeSite(sql, owner, index));
  const transport = postgresTransport({ url: appUrl, poolMax: callersMax });
  stage.stopList.add(() => transport.close());

  for (const dance of Object.keys(dances) as Dance[]) {
    const one: Caller[] = [];
    const many: Caller[] = [];
    for (const site of sites) {
      one.push(await makeCaller(sql, sites[0] ?? site));
      many.push(await makeCaller(sql, site));
    }
    console.log(`\n${dance}: ${dances[dance].join(" <-> ")}`);
    console.log("callers   one site: moves/s   p99 ms   many sites: moves/s   p99 ms   one / many");
    for (const callers of callerCounts) {
      await burst(transport, dance, one.slice(0, callers));
      await burst(transport, dance, many.slice(0, callers));
      const results: Record<"one" | "many", Measured[]> = { one: [], many: [] };
      for (let round = 0; round < rounds; round++) {
        results.one.push(await burst(transport, dance, one.slice(0, callers)));
        results.many.push(await burst(transport, dance, many.slice(0, callers)));
      }
      printRow(callers, median(results.one), median(results.many));
    }
  }
}

async function makeSite(sql: postgres.Sql, owner: Person, index: number): Promise<Site & { keyId: string }> {
  const site = await createSite(sql, owner, { name: `bench-${index}` });
  return { ...site, keyId: (await createKey(sql, { ...site, owner }, ["contracts"])).id };
}

async function makeCaller(sql: postgres.Sql, site: Site & { keyId: string }): Promise<Caller> {
  return { keyId: site.keyId, callId: await newLead(sql, site), moves: 0 };
}

interface Measured {
  perSecond: number;
  p99Ms: number;
}

async function burst(transport: ReturnType<typeof postgresTransport>, dance: Dance, callers: Caller[]): Promise<Measured> {
  const times: number[] = [];
  const startedAt = performance.now();
  await Promise.all(
    callers.map(async (caller) => {
      for (let before = performance.now(); before < startedAt + burstMs; ) {
        const to = dances[dance][caller.moves++ % 2];
        const args = { p_key_id: caller.keyId, p_move: { contract: "call", id: caller.callId, to } };
        const answer = await transport.call("transition_contract_for_key", {
          ...args,
          p_key: randomUUID(),
          p_request_hash: "0".repeat(64),
        });
        if ((answer as { status: number }).status !== 200) throw new Error(`A move was refused: ${JSON.stringify(answer)}`);
        const after = performance.now();
        times.push(after - before);
        before = after;
      }
    }),
  );
  times.sort((a, b) => a - b);
  return {
    perSecond: (times.length / (performance.now() - startedAt)) * 1000,
    p99Ms: times[Math.min(times.length - 1, Math.floor(times.length * 0.99))] ?? 0,
  };
}

function median(results: Measured[]): Measured {
  const middle = (read: (result: Measured) => number) => results.map(read).toSorted((a, b) => a - b)[Math.floor(results.length / 2)] ?? 0;
  return { perSecond: middle((result) => result.perSecond), p99Ms: middle((result) => result.p99Ms) };
}

function printRow(callers: number, one: Measured, many: Measured): void {
  const cells = [
    String(callers).padStart(7),
    one.perSecond.toFixed(0).padStart(20),
    one.p99Ms.toFixed(1).padStart(8),
    many.perSecond.toFixed(0).padStart(21),
    many.p99Ms.toFixed(1).padStart(8),
    (one.perSecond / many.perSecond).toFixed(2).padStart(12),
  ];
  console.log(cells.join(" "));
}
