import { afterAll, beforeAll, expect, test } from "vitest";
import { queueStats } from "#lib/oci/queue/stats.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { connectApi } from "#tests/fixtures/connections.ts";
import { minutesLater, sealLead } from "#tests/fixtures/queue.ts";
import { createQueueTeam } from "#tests/fixtures/queue-team.ts";
import { service } from "#tests/fixtures/service.ts";
import { createPerson, type Team } from "#tests/fixtures/team.ts";
import { openCircuit, passGate, readHealth, recordOutcome } from "#tests/support/circuit.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

let db: TestDatabase;
let team: Team;
let other: Team;
beforeAll(async () => {
  db = await createTestDatabase();
  const founder = await createPerson(db.sql, "founder@stats.test");
  team = await createQueueTeam(db.sql, "stats", founder, "api");
  other = await createQueueTeam(db.sql, "other", founder, "api");
  await sealLead(db.sql, team);
});
afterAll(() => db.drop());

const statsOf = async (site: Team | null) =>
  queueStats.parse(await callAs(db.sql, team.owner, (tx) => tx`select public.queue_stats(${site?.siteId ?? null})`));
const instant = (moment: string | null | undefined) => new Date(moment ?? "").getTime();

// Guarantee: the screen shows how delivery really stands, for the site and by provider, and a member of another site sees their own.
test("circuit and block are those of the site; of all sites the worst", async () => {
  expect(await statsOf(team)).toMatchObject({ circuit: null, blocked: null, perProvider: [{ circuit: null, blocked: null }] });

  await connectApi(db.sql, team);
  await connectApi(db.sql, other);
  const closed = { state: "CLOSED", failureCount: 0, nextProbeAt: null };
  expect(await statsOf(team)).toMatchObject({ circuit: closed, blocked: null, perProvider: [{ circuit: closed, blocked: null }] });

  await recordOutcome(db.sql, other, "transient", minutesLater(0));
  await openCircuit(db.sql, team, minutesLater(0));
  const { next_probe_at } = await readHealth(db.sql, team);
  for (const stats of [await statsOf(team), await statsOf(null)]) {
    expect(stats.circuit).toMatchObject({ state: "OPEN", failureCount: 5 });
    expect(instant(stats.circuit?.nextProbeAt)).toBe(next_probe_at.getTime());
    expect(stats.perProvider[0]?.circuit).toEqual(stats.circuit);
  }
  expect((await statsOf(other)).circuit).toEqual({ state: "CLOSED", failureCount: 1, nextProbeAt: null });

  await passGate(db.sql, team, minutesLater(10));
  expect((await statsOf(null)).circuit).toMatchObject({ state: "HALF_OPEN" });

  const block = {
    p_site_id: team.siteUuid,
    p_provider_key: "google_ads",
    p_code: "invalid_grant",
    p_message: "x",
    p_credentials_version: 1,
  };
  await service(db.sql, "block_provider", block, minutesLater(11));
  for (const stats of [await statsOf(team), await statsOf(null)]) {
    expect(stats.blocked?.code).toBe("invalid_grant");
    expect(instant(stats.blocked?.since)).toBe(minutesLater(11).getTime());
    expect(stats.perProvider[0]?.blocked).toEqual(stats.blocked);
  }
  expect((await statsOf(other)).blocked).toBeNull();

  await callAs(db.sql, team.owner, (tx) => tx`select public.switch_delivery(${team.siteId}, 'script')`);
  expect(await statsOf(team)).toMatchObject({ circuit: null, blocked: null, perProvider: [{ circuit: null, blocked: null }] });
});
