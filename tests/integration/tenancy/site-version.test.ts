import { afterAll, beforeAll, expect, test } from "vitest";
import { GET as versionRoute } from "#app/api/sites/[siteId]/version/route.ts";
import { actAs, callAs } from "#tests/fixtures/act-as.ts";
import { copyRows } from "#tests/fixtures/bulk-rows.ts";
import { change, newLead } from "#tests/fixtures/leads.ts";
import { claimForScript, claimForWorker, minutesLater, sealLead, settleClaim } from "#tests/fixtures/queue.ts";
import { createApiTeam, createQueueTeam } from "#tests/fixtures/queue-team.ts";
import { callIn } from "#tests/fixtures/service.ts";
import { createTeam, handOver, type Team } from "#tests/fixtures/team.ts";
import { useAppEnv } from "#tests/support/app-env.ts";
import { cookiesOf, fromOurPage, send } from "#tests/support/requests.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";
import { startTestGateway, type TestGateway } from "#tests/support/test-gateway.ts";
import { watchPlans } from "#tests/support/watched-plans.ts";

const topics = ["leads", "queue", "sales", "activity", "events"] as const;
type Topic = (typeof topics)[number] | "setup";

let db: TestDatabase;
let gateway: TestGateway;
let team: Team;
const cookies: Record<string, string> = {};
beforeAll(async () => {
  db = await createTestDatabase();
  gateway = await startTestGateway(db.adminUrl);
  useAppEnv({ database: db, gateway });
  team = await createQueueTeam(db.sql, "versions");
  const other = await handOver(db.sql, await createTeam(db.sql, "theirs", team.owner), "owner@elsewhere.test");
  for (const [name, person] of Object.entries({ viewer: team.viewer, outsider: other.owner }))
    cookies[name] = await cookiesOf(gateway, person);
});
afterAll(async () => {
  await gateway.stop();
  await db.drop();
});

const versionOf = async (of: Topic, on = team) =>
  (await callAs<{ version: string }>(db.sql, on.viewer, (tx) => tx`select public.site_version(${on.siteId}, ${of})`)).version;
const versions = async (on = team) =>
  Object.fromEntries(await Promise.all(topics.map(async (of) => [of, await versionOf(of, on)] as const))) as Record<Topic, string>;

/** Which screens have to read their list again after this. */
async function movedBy(work: () => Promise<unknown>, on = team): Promise<Topic[]> {
  const before = await versions(on);
  await work();
  const after = await versions(on);
  return topics.filter((of) => before[of] !== after[of]);
}

// Guarantee: no screen shows something old, and none reads its list again for nothing.
test("each change moves the versions of the screens that show it, and no others", async () => {
  expect(await movedBy(async () => {})).toEqual([]);
  let callId = "";
  expect(
    await movedBy(async () => {
      callId = await newLead(db.sql, team);
    }),
  ).toContain("leads");
  expect(await movedBy(() => change(db.sql, { team }, "change_call", { id: callId, to: "qualified" }))).toEqual(["leads", "activity"]);
  const seal = () => change(db.sql, { team }, "seal_call", { id: callId, amountCents: 100_000 });
  expect(await movedBy(seal)).toEqual(["leads", "queue", "sales", "activity"]);
  const [sale] = await db.sql`select id from public.sales where call_id = ${callId}`;
  const correct = () => change(db.sql, { team }, "correct_sale", { id: sale?.id, amountCents: 90_000 });
  expect(await movedBy(correct)).toEqual(["leads", "queue", "sales", "activity"]);
  const [row] = await db.sql`select id from public.offline_conversion_queue where call_id = ${callId}`;
  expect(await movedBy(() => claimForScript(db.sql, team, [String(row?.id)]))).toEqual(["leads", "queue", "sales"]);
});

test("another site's changes move nothing here", async () => {
  const other = await createQueueTeam(db.sql, "neighbour", team.owner);
  expect(await movedBy(() => sealLead(db.sql, other))).toEqual([]);
});

test("how delivery stands is part of the queue", async () => {
  const api = await createApiTeam(db.sql, "connected", team.owner);
  const disconnect = () => callAs(db.sql, api.owner, (tx) => tx`select public.disconnect_provider(${api.siteId})`);
  expect(await movedBy(disconnect, api)).toEqual(["queue", "activity"]);
});

// Guarantee: a change that began first and committed last is seen. Mutation that breaks it: the newest moment alone.
test("a change that commits late moves the version", async () => {
  const [slow, fast] = [await newLead(db.sql, team), await newLead(db.sql, team)];
  let whileItWasOpen = "";
  await actAs(db.sql, team.operator.id, async (tx) => {
    await tx`select public.change_call(${team.siteId}, ${tx.json({ id: slow, to: "qualified" })}, ${"0".repeat(64)}, null)`;
    await change(db.sql, { team }, "change_call", { id: fast, to: "qualified" });
    whileItWasOpen = await versionOf("leads");
  });
  expect(await versionOf("leads")).not.toBe(whileItWasOpen);
});

// Guarantee: what Google says of a conversion appears on every screen that shows it, the setup page too, though the verdict began before a hundred
// deliveries and committed after them. Mutation that breaks it: a version without verdict_at.
test("a verdict that commits behind a hundred deliveries moves the version", async () => {
  const api = await createApiTeam(db.sql, "late-verdict", team.owner);
  const { saleId } = await sealLead(db.sql, api);
  await copyRows(db.sql, saleId, 101, { halfDeferred: false });
  const claim = await claimForWorker(db.sql, api, { at: minutesLater(1), limit: 1 });
  const settle = (_row: unknown, index: number) => ({ outcome: "COMPLETED" as const, requestId: "late", recordIndex: index });
  await settleClaim(db.sql, api, claim, settle, { at: minutesLater(1), batch: { outcome: "success" } });
  const shown = ["leads", "queue", "sales", "setup"] as const;
  const read = () => Promise.all(shown.map((of) => versionOf(of, api)));
  let whileItWasOpen: string[] = [];
  await db.sql.begin(async (tx) => {
    await tx`select set_config('opsmantik.now', ${minutesLater(40).toISOString()}, true)`;
    await callIn(tx, "record_verdicts", {
      p_site_id: api.siteUuid,
      p_request_id: "late",
      p_answer: { status: "SUCCESS", verdicts: [], rest: "CONFIRMED" },
    });
    for (let second = 1; second <= 101; second++) {
      const at = minutesLater(40 + second / 60);
      const later = await claimForWorker(db.sql, api, { at, limit: 1 });
      await settleClaim(db.sql, api, later, { outcome: "COMPLETED", requestId: `r-${second}` }, { at, batch: { outcome: "success" } });
    }
    whileItWasOpen = await read();
  });
  const after = await read();
  expect(shown.filter((_of, index) => after[index] === whileItWasOpen[index])).toEqual([]);
});

test("members ask for it; others learn nothing", async () => {
  const ask = (who: string | undefined, of: string) =>
    send(versionRoute, {
      method: "GET",
      path: `/api/sites/${team.siteId}/version?of=${of}`,
      params: { siteId: team.siteId },
      headers: fromOurPage(who && cookies[who]),
    });
  const answer = await ask("viewer", "leads");
  expect(answer.status).toBe(200);
  expect(await answer.json()).toEqual({ version: await versionOf("leads"), at: expect.any(String) });
  expect((await ask("outsider", "leads")).status).toBe(404);
  expect((await ask(undefined, "leads")).status).toBe(401);
  expect((await ask("viewer", "members")).status).toBe(400);
  await expect(versionOf("members" as Topic)).rejects.toThrow("VALIDATION_FAILED");
});

// Guarantee: a look costs the same however long the history is, and whatever one transaction changed.
// Mutation that breaks it: reading every row of the last ten minutes.
test("a look reads at most a hundred moments of each table off its index", async () => {
  const large = await createQueueTeam(db.sql, "large", team.owner);
  const { saleId } = await sealLead(db.sql, large);
  await copyRows(db.sql, saleId, 50_000);
  await db.sql`insert into private.queue_moves (queue_id, site_id, to_status, reason, actor_kind, attempt_count, created_at)
    select q.id, q.site_id, q.status, 'SEALED', 'system', 0, q.created_at + (row_number() over () % 500) * interval '1 second'
    from public.offline_conversion_queue q where q.site_id = ${large.siteUuid}`;
  await db.sql`analyze private.queue_moves`;
  const watched = await watchPlans(db.adminUrl);
  const { steps } = await watched.stepsOf(() =>
    actAs(watched.sql, large.viewer.id, (tx) => tx`select public.site_version(${large.siteId}, 'queue')`),
  );
  await watched.sql.end();
  const read = steps.filter(({ table }) => table === "sales" || table === "queue_moves");
  expect(read.length).toBeGreaterThan(0);
  expect(read.every(({ name, rows }) => !name.startsWith("Seq Scan") && rows <= 100)).toBe(true);
});
