import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { callAs } from "#tests/fixtures/act-as.ts";
import { actionOf, connectApi, defaultActions, defaultNames } from "#tests/fixtures/connections.ts";
import { change } from "#tests/fixtures/leads.ts";
import {
  claimForScript,
  claimForWorker,
  listGroups,
  minutesLater,
  moveConversion,
  readRow,
  sealLead,
  settleClaim,
} from "#tests/fixtures/queue.ts";
import { createApiTeam } from "#tests/fixtures/queue-team.ts";
import { service } from "#tests/fixtures/service.ts";
import { deliverySettings, switchDelivery } from "#tests/fixtures/site.ts";
import { createPerson, type Person, type Team } from "#tests/fixtures/team.ts";
import { listRows } from "#tests/support/control.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

let db: TestDatabase;
let owner: Person;
let team: Team;
let teams = 0;
beforeAll(async () => {
  db = await createTestDatabase();
  owner = await createPerson(db.sql, "owner@sendable.test");
});
beforeEach(async () => {
  team = await createApiTeam(db.sql, `sendable-${++teams}`, owner);
});
afterAll(() => db.drop());

const claim = (minute: number) => claimForWorker(db.sql, team, { at: minutesLater(minute) });
const seal = () => sealLead(db.sql, team, { amountCents: 100_00 });
const provider = () => ({ p_site_id: team.siteUuid, p_provider_key: "google_ads" });
const asOwner = (call: Parameters<typeof callAs>[2]) => callAs(db.sql, owner, call);

/** What stands in the way of one of two rows, or of the whole site. */
const obstacles: Record<string, { left: number; put: (id: string) => Promise<unknown> }> = {
  nothing: { left: 2, put: async () => undefined },
  "a time for the next try": {
    left: 1,
    put: async (id) => {
      const { token } = await claim(1);
      const [other] = await db.sql`select id from public.offline_conversion_queue where site_id = ${team.siteUuid} and id <> ${id}`;
      const later = { outcome: "RETRY", category: "TRANSIENT", code: "X", retryAt: minutesLater(60).toISOString() };
      const p_results = [
        { id, ...later },
        { id: other?.id, ...later, retryAt: minutesLater(2).toISOString() },
      ];
      await service(db.sql, "settle_offline_conversion_jobs", { p_site_id: team.siteUuid, p_token: token, p_results }, minutesLater(1));
    },
  },
  "a sale that was cancelled": {
    left: 1,
    put: async (id) => change(db.sql, { team }, "cancel_sale", { id: (await readRow(db.sql, id)).sale_id }, { at: minutesLater(2) }),
  },
  "a row that was given up": { left: 1, put: (id) => moveConversion(db.sql, team, { id, to: "FAILED" }, minutesLater(2)) },
  "a block": {
    left: 0,
    put: () =>
      service(db.sql, "block_provider", { ...provider(), p_code: "AUTH", p_message: "m", p_credentials_version: 1 }, minutesLater(2)),
  },
  "a wait that Google asked for": {
    left: 0,
    put: async () => {
      const quotaUntil = minutesLater(60).toISOString();
      const wait = {
        outcome: "RETRY" as const,
        category: "RATE_LIMIT",
        code: "RESOURCE_EXHAUSTED",
        retryAt: minutesLater(2).toISOString(),
        free: true,
      };
      await settleClaim(db.sql, team, await claim(1), wait, { at: minutesLater(1), batch: { outcome: "definite", quotaUntil } });
    },
  },
  "no credentials": { left: 0, put: () => asOwner((tx) => tx`select public.disconnect_provider(${team.siteId})`) },
  "a script that sends": { left: 0, put: () => switchDelivery(db.sql, team, "script") },
  "an archived site": { left: 0, put: () => asOwner((tx) => tx`select public.set_site_archived(${team.siteId}, true)`) },
  "no conversion action of that name": { left: 0, put: () => connectApi(db.sql, team, { actions: defaultActions.slice(1) }) },
  "another name in the settings, which takes its action along": {
    left: 2,
    put: () => deliverySettings(db.sql, team, { conversionNames: { seal: "Renamed" } }),
  },
  "a row that a script may have uploaded under a name that its action does not have at Google": {
    left: 1,
    put: async (id) => {
      await connectApi(db.sql, team, { actions: defaultActions.map((chosen) => ({ ...chosen, googleName: "Sales by API" })) });
      await switchDelivery(db.sql, team, "script");
      await claimForScript(db.sql, team, [id], minutesLater(1));
      await service(db.sql, "recover_stuck_offline_conversion_jobs", { p_min_age_minutes: 1 }, minutesLater(2));
      await switchDelivery(db.sql, team, "api");
    },
  },
  "a blocked conversion action": {
    left: 0,
    put: async () => {
      const probe = await sealLead(db.sql, team);
      const claimed = await claimForWorker(db.sql, team, { at: minutesLater(1), limit: 1 });
      const blockActions = [{ conversionName: defaultNames.seal, code: "NO_CONVERSION_ACTION_FOUND", message: "m" }];
      const options = { at: minutesLater(1), batch: { outcome: "definite", blockActions } };
      await settleClaim(db.sql, team, claimed, { outcome: "FAILED", category: "VALIDATION", code: "NO_CONVERSION_ACTION_FOUND" }, options);
      expect(probe.id).not.toBe("");
    },
  },
};

// Guarantee: a group's share of a run is counted by the rule that its claim goes by: a slot is never given to rows nobody can have.
// Mutation that breaks it: take any condition out of sendable_queue and write it into lock_due alone.
describe("listed is what is claimed, with", () => {
  test.each(Object.entries(obstacles))("%s", async (_name, { left, put }) => {
    const { id } = await seal();
    await seal();
    await put(id);
    const groups = await listGroups(db.sql, minutesLater(3), [team.siteUuid]);
    const { rows } = await claim(3);
    expect([groups[0]?.queued_count ?? 0, rows.length]).toEqual([left, left]);
    const deferral = { ...provider(), p_limit: 100, p_until: minutesLater(60), p_code: "CIRCUIT_OPEN", p_message: "w" };
    await service(db.sql, "recover_stuck_offline_conversion_jobs", {}, minutesLater(30));
    expect(await service(db.sql, "defer_offline_conversion_jobs", deferral, minutesLater(30))).toEqual({ deferred: left });
  });

  test("a row that kept an older name: its own action counts, not the settings'", async () => {
    const { id } = await seal();
    await claim(1);
    await service(db.sql, "recover_stuck_offline_conversion_jobs", {}, minutesLater(20));
    await deliverySettings(db.sql, team, { conversionNames: { seal: "Renamed" } });
    await connectApi(db.sql, team, { actions: defaultActions.slice(1) }); // none for the new name; the old one keeps its line
    await seal();
    expect((await claim(21)).rows).toMatchObject([{ id, conversionName: defaultNames.seal, conversionAction: actionOf(1) }]);
    const { rows } = await listRows(db.sql, team, { status: "QUEUED" }, { at: minutesLater(22) });
    expect(rows).toMatchObject([{ waitsFor: "ACTION" }]);
  });

  // Guarantee: rows that the gate holds for hours do not look as if they went within minutes.
  test("a wait that Google asked for is named on every row of the site, with its end", async () => {
    await seal();
    await obstacles["a wait that Google asked for"]?.put("");
    await seal();
    const shown = async (minute: number) =>
      (await listRows(db.sql, team, {}, { at: minutesLater(minute) })).rows.map(({ waitsFor, waitsUntil }) => [
        waitsFor,
        waitsUntil && new Date(waitsUntil),
      ]);
    expect(await shown(3)).toEqual([
      ["QUOTA", minutesLater(60)],
      ["QUOTA", minutesLater(60)],
    ]);
    expect(await shown(61)).toEqual([
      [null, null],
      [null, null],
    ]);
  });

  test("groups come in the order of their oldest row, with their circuit and when they were last served", async () => {
    const other = await createApiTeam(db.sql, `sendable-${++teams}`, owner);
    await sealLead(db.sql, other, { at: minutesLater(-10) });
    await seal();
    const groups = await listGroups(db.sql, minutesLater(3), [team.siteUuid, other.siteUuid]);
    expect(groups.map(({ site_id }) => site_id)).toEqual([other.siteUuid, team.siteUuid]);
    expect(groups[0]).toMatchObject({ state: "CLOSED", probe_limit: 5, next_probe_at: null, is_probe_due: false, served_at: null });
    await claim(3);
    await seal();
    const [served] = await listGroups(db.sql, minutesLater(4), [team.siteUuid]);
    expect(new Date(served?.served_at ?? 0)).toEqual(minutesLater(3));
  });
});
