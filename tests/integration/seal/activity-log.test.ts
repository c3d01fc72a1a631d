import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { activityPage } from "#lib/contracts/activity.ts";
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
  });
});
