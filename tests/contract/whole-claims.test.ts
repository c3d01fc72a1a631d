import { afterAll, beforeAll, expect, test } from "vitest";
import { postgresTransport } from "#lib/db/postgres-transport.ts";
import { supabaseTransport } from "#lib/db/supabase-transport.ts";
import type { RpcTransport } from "#lib/db/transport.ts";
import { copyRows } from "#tests/fixtures/bulk-rows.ts";
import { sealLead, type WorkerClaim } from "#tests/fixtures/queue.ts";
import { createApiTeam } from "#tests/fixtures/queue-team.ts";
import { withRows } from "#tests/fixtures/service.ts";
import type { Team } from "#tests/fixtures/team.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";
import { startTestGateway, type TestGateway } from "#tests/support/test-gateway.ts";

const limit = 1_000; // the most that a claim gives, and PostgREST's default for a set

let db: TestDatabase;
let gateway: TestGateway;
let team: Team;
const transports: Record<string, RpcTransport> = {};

beforeAll(async () => {
  db = await createTestDatabase();
  team = await createApiTeam(db.sql, "whole");
  const { saleId } = await sealLead(db.sql, team, { at: new Date(Date.now() - 3_600_000) });
  await copyRows(db.sql, saleId, 6 * limit, { halfDeferred: false });
  gateway = await startTestGateway(db.adminUrl);
  transports.postgres = postgresTransport({ url: db.appUrl });
  transports["postgres as through the transaction pooler"] = postgresTransport({ url: db.appUrl, prepare: false });
  transports.supabase = supabaseTransport({ url: gateway.url, secretKey: gateway.secretKey });
});
afterAll(async () => {
  for (const transport of Object.values(transports)) await transport.close();
  await gateway.stop();
  await db.drop();
});

const shape = [
  ...[
    "id: string",
    "saleId: string",
    "kind: string",
    "orderId: string",
    "conversionName: string",
    "conversionAction: string",
    "via: string",
  ],
  ...["valueCents: number", "currency: string", "conversionTime: string", "timezone: string", "attemptCount: number", "gclid: string"],
  ...["wbraid: null", "gbraid: null", "customerHash: null", "emailHash: null", "channel: null", "consent: string"],
  "mayHaveArrived: boolean",
].toSorted();
const shapeOf = (row: object) =>
  Object.entries(row)
    .map(([key, value]) => `${key}: ${value === null ? "null" : typeof value}`)
    .toSorted();

// Guarantee: a claim arrives whole and alike over every transport. Rows that were cut off on the way would stay claimed until recovery.
// Mutation that breaks it: let claim_offline_conversion_jobs_v2 return a set of rows.
test.each(["postgres", "postgres as through the transaction pooler", "supabase"])(
  "a full claim, its answer and the next claim over %s",
  async (name) => {
    const call = <T>(fn: string, args: Record<string, unknown>) =>
      (transports[name] as RpcTransport).call(fn, args).then((answer) => withRows(answer) as T);
    const of = { p_site_id: team.siteUuid, p_provider_key: "google_ads" };
    const claim = await call<WorkerClaim>("claim_offline_conversion_jobs_v2", { ...of, p_limit: limit });
    expect(claim).toMatchObject({ gate: "CLOSED", rows: { length: limit } });
    expect(shapeOf(claim.rows.at(-1) ?? {})).toEqual(shape);

    const answer = await call<{ completed: number; left: number; claim: WorkerClaim }>("settle_and_claim_conversion_jobs", {
      ...of,
      p_token: claim.token,
      p_ids: claim.rows.map(({ id }) => id),
      p_indexes: claim.rows.map((_row, index) => index),
      p_sent: { transport: "data_manager", requestId: claim.token },
      p_batch: { provider: "google_ads", outcome: "success", credentialsVersion: claim.batch.credentialsVersion, durationMs: 1 },
      p_limit: limit,
    });
    expect(answer).toMatchObject({ completed: limit, left: 0, claim: { rows: { length: limit } } });
    const [kept] = await db.sql`
    select count(*) filter (where q.status = 'COMPLETED' and q.provider_request_id = ${claim.token})::int as delivered,
      count(*) filter (where q.claim_token = ${answer.claim.token})::int as claimed
    from public.offline_conversion_queue q where q.site_id = ${team.siteUuid}`;
    expect(kept).toEqual({ delivered: limit, claimed: limit });
  },
);
