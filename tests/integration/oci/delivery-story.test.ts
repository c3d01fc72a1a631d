import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type QueueRowStory, queueRowStory } from "#lib/oci/queue/row-story.ts";
import { queueStats } from "#lib/oci/queue/stats.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { defaultNames } from "#tests/fixtures/connections.ts";
import { change } from "#tests/fixtures/leads.ts";
import { claimForWorker, minutesLater, type Result, sealLead, settleClaim } from "#tests/fixtures/queue.ts";
import { createApiTeam, createQueueTeam } from "#tests/fixtures/queue-team.ts";
import type { Team } from "#tests/fixtures/team.ts";
import { readStats } from "#tests/support/control.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

let db: TestDatabase;
let team: Team;
beforeAll(async () => {
  db = await createTestDatabase();
  team = await createApiTeam(db.sql, "stories");
});
afterAll(() => db.drop());

const story = async (id: string, minute: number): Promise<QueueRowStory> => {
  const read = await callAs<QueueRowStory>(
    db.sql,
    team.viewer,
    (tx) => tx`select public.queue_row_story(${team.siteId}, ${id}, 5)`,
    minutesLater(minute),
  );
  expect(queueRowStory.parse(read)).toEqual(read);
  return read;
};
async function send(site: Team, minute: number, answer: Result, batch: Record<string, unknown>): Promise<void> {
  const at = minutesLater(minute);
  await settleClaim(db.sql, site, await claimForWorker(db.sql, site, { at }), answer, { at, batch });
}

// Guarantee: whoever asks Google about a conversion has the request that Google knows it by, also of a try that failed.
test("each attempt of a worker has its batch, and a dispatch says when Google is asked next", async () => {
  const { id } = await sealLead(db.sql, team);
  const transient = { outcome: "transient", durationMs: 5_000, errorCode: "UNAVAILABLE", errorCategory: "TRANSIENT" };
  await send(team, 1, { outcome: "RETRY", code: "UNAVAILABLE", category: "TRANSIENT" }, transient);
  const requestId = randomUUID();
  const success = { outcome: "success", durationMs: 400, requestId, firstPollSeconds: 1800 };
  await send(team, 90, { outcome: "COMPLETED", requestId, recordIndex: 0 }, success);
  const { attempts, dispatches, sale } = await story(id, 91);
  expect(attempts.map(({ outcome, batch }) => [outcome, batch])).toEqual([
    [
      "RETRY",
      expect.objectContaining({ requestId: null, durationMs: 5_000, claimed: 1, retried: 1, errorCode: "UNAVAILABLE", isFinished: true }),
    ],
    ["COMPLETED", expect.objectContaining({ requestId, durationMs: 400, claimed: 1, completed: 1, errorCode: null })],
  ]);
  expect(Date.parse(String(dispatches[0]?.nextCheckAt))).toBe(minutesLater(120).getTime());
  expect(sale).toMatchObject({ status: "CONFIRMED", atGoogle: { kind: "CONVERSION", transport: "data_manager", verdict: null } });
});

test("a sale says what it is worth and what Google has of it", async () => {
  const { id, saleId } = await sealLead(db.sql, team, { amountCents: 50_000 });
  expect((await story(id, 1)).sale).toMatchObject({ id: saleId, version: 1, amountCents: 50_000, atGoogle: null });
  await send(team, 200, { outcome: "COMPLETED", requestId: randomUUID(), recordIndex: 0 }, { outcome: "success" });
  await change(db.sql, { team }, "correct_sale", { id: saleId, amountCents: 40_000 }, { at: minutesLater(210) });
  const { sale } = await story(id, 211);
  expect(sale).toMatchObject({ version: 2, amountCents: 40_000, atGoogle: { valueCents: 50_000, isWbraidOnly: false } });
  expect(Date.parse(sale.adjustableUntil)).toBe(minutesLater(-5).getTime() + 54 * 86_400_000);
});

test("the figures name a refused conversion action, a missing connection and the worker's last turn", async () => {
  const site = await createApiTeam(db.sql, "refused-action", team.owner);
  await sealLead(db.sql, site);
  const blockActions = [{ conversionName: defaultNames.seal, code: "NO_CONVERSION_ACTION_FOUND", message: "none" }];
  await send(
    site,
    5,
    { outcome: "FAILED", code: "NO_CONVERSION_ACTION_FOUND", category: "VALIDATION" },
    { outcome: "definite", blockActions },
  );
  const stats = await readStats(db.sql, site);
  expect(queueStats.parse(stats)).toMatchObject({
    connected: true,
    blockedActions: [{ conversionName: defaultNames.seal, code: "NO_CONVERSION_ACTION_FOUND" }],
    missingActions: [],
    lastRun: { kind: "worker", ok: true },
  });
  await callAs(db.sql, site.owner, (tx) => tx`select public.set_conversion_actions(${site.siteId}, '[]')`);
  expect(await readStats(db.sql, site)).toMatchObject({ blockedActions: [], missingActions: [defaultNames.seal] });
  await callAs(db.sql, site.owner, (tx) => tx`select public.disconnect_provider(${site.siteId})`);
  expect(await readStats(db.sql, site)).toMatchObject({ connected: false, circuit: null });
  const byScript = await createQueueTeam(db.sql, "by-script-figures", team.owner);
  expect(await readStats(db.sql, byScript)).toMatchObject({
    connected: null,
    blockedActions: [],
    missingActions: [],
    circuit: null,
    blocked: null,
    lastRun: null,
  });
});
