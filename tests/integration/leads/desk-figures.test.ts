import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { amountPresets, deskFigures } from "#lib/leads/desk-shapes.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { change, newLead } from "#tests/fixtures/leads.ts";
import { createTeam, type Team } from "#tests/fixtures/team.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

let db: TestDatabase;
let team: Team;
/** Noon in Istanbul, so that an hour more or less is the same day. */
const now = new Date("2026-11-16T09:00:00Z");
const hours = (count: number) => new Date(now.getTime() - count * 3_600_000);
const days = (count: number) => hours(24 * count);

beforeAll(async () => {
  db = await createTestDatabase();
  team = await createTeam(db.sql, "desk");
});
afterAll(() => db.drop());
const figures = async (on = team) =>
  deskFigures.parse(await callAs(db.sql, on.viewer, (tx) => tx`select public.desk_figures(${on.siteId})`, now));
const presets = async (on = team) =>
  amountPresets.parse(await callAs(db.sql, on.operator, (tx) => tx`select public.amount_presets(${on.siteId})`, now));
const seal = (id: string, amountCents: number, at: Date, note?: string, on = team) =>
  change(db.sql, { team: on }, "seal_call", { id, amountCents, ...(note && { note }) }, { at });

describe("figures", () => {
  // Guarantee: the figures are those that somebody would count by hand, in the site's own days.
  test("equal a count by hand", async () => {
    const own = await createTeam(db.sql, "figures", team.owner);
    const lateYesterday = new Date("2026-11-15T20:30:00Z"); // 23:30 in Istanbul
    const earlyToday = new Date("2026-11-15T21:30:00Z"); // 00:30 in Istanbul, still yesterday in UTC
    const ids = [
      await newLead(db.sql, own, { at: lateYesterday }),
      await newLead(db.sql, own, { at: earlyToday }),
      await newLead(db.sql, own, { at: hours(2) }),
      await newLead(db.sql, own, { at: hours(2), gclid: null }),
      await newLead(db.sql, own, { at: days(7) }),
    ];
    const [yesterday = "", early = "", noon = "", direct = ""] = ids;
    await seal(yesterday, 100_000, new Date(lateYesterday.getTime() + 10 * 60_000), undefined, own);
    await seal(early, 200_000, new Date(earlyToday.getTime() + 30 * 60_000), undefined, own);
    await seal(noon, 300_000, new Date(hours(2).getTime() + 10 * 60_000), undefined, own);
    await seal(direct, 50_000, new Date(hours(2).getTime() + 20 * 60_000), undefined, own);
    const found = await figures(own);
    const at = (day: string) => found.days.find((figure) => figure.day === day);
    expect(found.days).toHaveLength(60);
    expect(found.today).toBe("2026-11-16");
    expect(at("2026-11-16")).toMatchObject({
      leads: 3,
      sealed: 3,
      valueCents: 550_000,
      medianMinutes: 20,
      queued: 2,
      delivered: 0,
      failed: 0,
    });
    expect(at("2026-11-15")).toMatchObject({ leads: 1, sealed: 1, valueCents: 100_000, medianMinutes: 10, queued: 1 });
    expect(at("2026-11-09")).toMatchObject({ leads: 1, sealed: 0 });
    expect(found).toMatchObject({
      open: 1,
      waiting: { count: 3, valueCents: { TRY: 600_000 } },
      failed: { count: 0, topCode: null },
      lastWeekMedianMinutes: 10,
      todayByStatus: { sealed: 3 },
      rules: { sendDelayMinutes: 10, clickMinAgeHours: 6, syncMethod: "script" },
      hasLeads: true,
    });
  });
});

// Guarantee: the chart's days are compared with as many before them, and nobody asks for years.
test.each([
  [7, 14],
  [90, 180],
  [1, 14],
  [4_000, 180],
])("a chart of %i days gets %i, ending today", async (span, count) => {
  const { days: given, today } = deskFigures.parse(
    await callAs(db.sql, team.viewer, (tx) => tx`select public.desk_figures(${team.siteId}, ${span})`, now),
  );
  expect(given).toHaveLength(count);
  expect(given.at(-1)?.day).toBe(today);
});

describe("usual amounts", () => {
  test("are the four that were sealed most, lowest first, named by their notes; before that the expected value", async () => {
    const own = await createTeam(db.sql, "amounts", team.owner);
    expect(await presets(own)).toEqual([{ amountCents: 10_000, label: null, isUsual: true, isExpected: true }]);
    const sold: [amount: number, times: number, note?: string][] = [
      [425_000, 3, "Parça değişimi, Elif"],
      [125_000, 2, "Bakım"],
      [240_000, 2],
      [890_000, 2, "Yeni kombi"],
      [777_700, 1],
    ];
    for (const [amount, times, note] of sold)
      for (let index = 0; index < times; index++) await seal(await newLead(db.sql, own, { at: days(2) }), amount, days(1), note, own);
    expect((await presets(own)).map(({ amountCents, label, isUsual }) => [amountCents, label, isUsual])).toEqual([
      [125_000, "Bakım", false],
      [240_000, null, false],
      [425_000, "Parça değişimi", true],
      [890_000, "Yeni kombi", false],
    ]);
  });
});
