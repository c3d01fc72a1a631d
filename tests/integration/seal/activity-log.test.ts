import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ActivityEntry, activityPage } from "#lib/contracts/activity.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { change, newLead } from "#tests/fixtures/leads.ts";
import { createTeam, handOver, type Team } from "#tests/fixtures/team.ts";
import { useAppEnv } from "#tests/support/app-env.ts";
import { cookiesOf } from "#tests/support/requests.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";
import { startTestGateway, type TestGateway } from "#tests/support/test-gateway.ts";

let db: TestDatabase;
let gateway: TestGateway;
let team: Team;
const cookies: Record<string, string> = {};
beforeAll(async () => {
  db = await createTestDatabase();
  gateway = await startTestGateway(db.adminUrl);
  useAppEnv({ database: db, gateway });
  team = await createTeam(db.sql, "lists");
  const other = await handOver(db.sql, await createTeam(db.sql, "theirs", team.owner), "owner@elsewhere.test");
  for (const [name, person] of Object.entries({ operator: team.operator, viewer: team.viewer, outsider: other.owner }))
    cookies[name] = await cookiesOf(gateway, person);
});
afterAll(async () => {
  await gateway.stop();
  await db.drop();
});

describe("the activity log", () => {
  const log = async (filter: Record<string, unknown> = {}) =>
    activityPage.parse(
      await callAs(db.sql, team.operator, (tx) => tx`select public.list_activity(${team.siteId}, ${tx.json(filter as never)})`),
    );

  // Guarantee: whatever the log is sorted by, paging shows each line once. Mutation: a cursor that knows the time only.
  test.each([
    ["oldest", ({ at }) => at],
    ["who", ({ actorName }) => actorName ?? ""],
    ["who-z", ({ actorName }) => actorName ?? ""],
    ["what", ({ kind }) => kind],
    ["what-z", ({ kind }) => kind],
  ] as [string, (entry: ActivityEntry) => string][])("sorted by %s, page by page", async (sort, keyOf) => {
    const at = (minutes: number) => ({ at: new Date(Date.parse("2026-11-09T09:00:00Z") + minutes * 60_000) });
    for (const minutes of [0, 10]) {
      const call = await newLead(db.sql, team, at(minutes));
      const { body } = await change(db.sql, { team }, "seal_call", { id: call, amountCents: 425_000 }, at(minutes + 1));
      await change(db.sql, { team, person: team.owner }, "correct_sale", { id: body.saleId, amountCents: 430_000 }, at(minutes + 2));
      await change(db.sql, { team }, "cancel_sale", { id: body.saleId }, at(minutes + 3));
    }
    const filter = { day: "2026-11-09", sort };
    const whole = (await log(filter)).entries;
    const keys = whole.map(keyOf);
    const sorted = keys.toSorted();
    expect(keys).toEqual(sort.endsWith("-z") ? sorted.toReversed() : sorted);
    const paged: ActivityEntry[] = [];
    let cursor: string | null = null;
    do {
      const page = await log({ ...filter, limit: 4, ...(cursor && { cursor }) });
      paged.push(...page.entries);
      cursor = page.next;
    } while (cursor);
    expect(paged.map(({ id }) => id)).toEqual(whole.map(({ id }) => id));
    expect(new Set(paged.map(({ id }) => id)).size).toBe(whole.length);
  });

  // Guarantee: every change that was proven is on the log, with who made it, what was before and what they wrote.
  test("names who did what, before and after", async () => {
    const at = new Date("2026-11-02T22:30:00Z"); // the 3rd in Istanbul
    const later = (minutes: number) => ({ at: new Date(at.getTime() + minutes * 60_000) });
    const call = await newLead(db.sql, team, { at });
    const { body } = await change(db.sql, { team }, "seal_call", { id: call, amountCents: 425_000 }, later(1));
    await change(
      db.sql,
      { team, person: team.owner },
      "correct_sale",
      { id: body.saleId, amountCents: 430_000, reason: "Part added" },
      later(2),
    );
    await change(db.sql, { team }, "cancel_sale", { id: body.saleId, reason: "Changed their mind" }, later(3));
    await change(db.sql, { team }, "undo_call", { id: call }, later(4));
    const { entries } = await log({ day: "2026-11-03" });
    expect(
      entries.map(({ kind, actorName, from, to, amountBeforeCents, amountCents, note }) => ({
        kind,
        actorName,
        from,
        to,
        amountBeforeCents,
        amountCents,
        note,
      })),
    ).toEqual([
      {
        kind: "undone",
        actorName: "operator@lists.test",
        from: "cancelled",
        to: "sealed",
        amountBeforeCents: null,
        amountCents: 430_000,
        note: null,
      },
      {
        kind: "cancelled",
        actorName: "operator@lists.test",
        from: "sealed",
        to: "cancelled",
        amountBeforeCents: null,
        amountCents: 0,
        note: "Changed their mind",
      },
      {
        kind: "corrected",
        actorName: "owner@lists.test",
        from: "CONFIRMED",
        to: "CONFIRMED",
        amountBeforeCents: 425_000,
        amountCents: 430_000,
        note: "Part added",
      },
      {
        kind: "sealed",
        actorName: "operator@lists.test",
        from: "intent",
        to: "sealed",
        amountBeforeCents: null,
        amountCents: 425_000,
        note: null,
      },
    ]);
    expect((await log({ day: "2026-11-02" })).entries).toEqual([]);
    expect((await log({ day: "2026-11-03", actor: team.owner.id })).entries.map(({ kind }) => kind)).toEqual(["corrected"]);
    expect((await log({ day: "2026-11-03", kind: "undone" })).entries).toHaveLength(1);
    // A range, a search with its count, and where each line leads to.
    expect((await log({ from: "2026-11-01", to: "2026-11-03" })).total).toBe(4);
    expect((await log({ to: "2026-11-02" })).entries).toEqual([]);
    const found = await log({ q: "part add" });
    expect(found.total).toBe(1);
    expect(found.entries).toMatchObject([{ kind: "corrected", callId: call, saleId: body.saleId, rowId: null }]);
    const seen = await callAs(db.sql, team.viewer, (tx) => tx`select public.list_activity(${team.siteId}, ${tx.json({ q: "part add" })})`);
    expect(activityPage.parse(seen).entries).toEqual([]); // a viewer does not read notes, and does not find by them
  });
});
