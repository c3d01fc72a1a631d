/**
 * How many moves a second the contract kernel makes through the service door, for one site and for many: node scripts/bench/contracts.ts
 *   --seconds 2   length of one burst     --rounds 3   interleaved rounds; the median counts
 * Each caller moves a call of its own, so whatever one site loses against many is a lock that its moves share.
 * Load and Postgres share this machine: read the ratios, which come from the same minutes, not the absolute figures.
 */
import { randomUUID } from "node:crypto";
import { parseArgs } from "node:util";
import type postgres from "postgres";
import { postgresTransport } from "#lib/db/postgres-transport.ts";
import { recordVisit } from "../local/demo/record-visit.ts";
import { actAs, createAuthUser } from "../local/postgres/auth-user.ts";
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
  const owner = await createAuthUser(sql, { email: "owner@bench.test", password: "correct-horse-battery", name: "Bench" });
  const sites = [];
  for (let index = 0; index < callersMax; index++) sites.push(await makeSite(sql, owner, index));
  const transport = postgresTransport({ url: appUrl, poolMax: callersMax });
  stage.stopList.add(() => transport.close());

  for (const dance of Object.keys(dances) as Dance[]) {
    const one: Caller[] = [];
    const many: Caller[] = [];
    for (const [index, site] of sites.entries()) {
      one.push(await makeCaller(sql, sites[0] ?? site, `${dance}-one-${index}`));
      many.push(await makeCaller(sql, site, `${dance}-many-${index}`));
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

/** Durable as in production: every commit is flushed. */
interface BenchSite {
  siteId: string;
  keyId: string;
}

async function makeSite(sql: postgres.Sql, owner: string, index: number): Promise<BenchSite> {
  const domain = `bench-${index}.test`;
  const [made] = await actAs(sql, owner, async (tx) => {
    const [site] = await tx`select public.create_site(${domain}, ${[domain]}, 'TRY', 'Europe/Istanbul', 'tr') ->> 'publicId' as id`;
    return tx`select ${String(site?.id)} as public_id, public.create_site_api_key(${String(site?.id)}, 'Bench', '{contracts}') ->> 'id' as key_id`;
  });
  const [site] = await sql`select id from public.sites where public_id = ${String(made?.public_id)}`;
  return { siteId: String(site?.id), keyId: String(made?.key_id) };
}

async function makeCaller(sql: postgres.Sql, { siteId, keyId }: BenchSite, visitor: string): Promise<Caller> {
  const step = {
    at: new Date(),
    category: "conversion",
    action: "phone_call",
    url: "https://bench.test/",
    gclid: visitor,
    intentStamp: visitor,
  };
  const [callId] = await recordVisit(sql, siteId, visitor, [step]);
  if (!callId) throw new Error("The visit left no call.");
  return { keyId, callId, moves: 0 };
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
