import { afterAll, beforeAll, describe, expect, test } from "vitest";
import en from "#lib/i18n/messages/en.json";
import tr from "#lib/i18n/messages/tr.json";
import { deliveryInput, siteDelivery } from "#lib/tenancy/site-delivery.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { change, newLead } from "#tests/fixtures/leads.ts";
import { createTeam, type Person, type Team } from "#tests/fixtures/team.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

let db: TestDatabase;
let team: Team;
beforeAll(async () => {
  db = await createTestDatabase();
  team = await createTeam(db.sql, "delivery");
});
afterAll(() => db.drop());

const set = (settings: unknown, person: Person = team.owner) =>
  callAs(db.sql, person, (tx) => tx`select public.set_site_delivery(${team.siteId}, ${tx.json(settings as never)})`);
const read = async () => siteDelivery.parse(await callAs(db.sql, team.viewer, (tx) => tx`select public.site_delivery(${team.siteId})`));

describe("a site's delivery settings", () => {
  test("start with the seeds' defaults", async () => {
    expect(await read()).toEqual({
      defaultAovCents: 10_000,
      amountPresets: [],
      intentWeights: { intent: 0.02, qualified: 0.2, meeting: 0.2, sealed: 1 },
      signalsEnabled: false,
      signalsDailyMax: 200,
      signalsNow: { awaitingPerson: 0, handedOutToday: 0 },
      pageViewsEnabled: false,
      conversionNames: {
        seal: "OpsMantik_V5_DEMIR_MUHUR",
        MEETING_BOOKED: "OpsMantik_V4_Sicak_Teklif",
        SEAL_PENDING: "OpsMantik_V3_Nitelikli_Gorusme",
        INTENT_CAPTURED: "OpsMantik_V2_Ilk_Temas",
        page_view: "OpsMantik_V1_Nabiz",
      },
      sendDelayMinutes: 10,
      clickMinAgeHours: 6,
      needsYouAfterHours: 48,
    });
  });

  test("change where they are given and stay where they are not", async () => {
    const before = await read();
    await set({ defaultAovCents: 310_000, conversionNames: { ...before.conversionNames, seal: "Satış" }, sendDelayMinutes: 0 });
    await set({ intentWeights: { ...before.intentWeights, meeting: 0.5 } });
    const { conversionNames, intentWeights, defaultAovCents, sendDelayMinutes } = await read();
    expect({
      defaultAovCents,
      sendDelayMinutes,
      seal: conversionNames.seal,
      pv: conversionNames.page_view,
      meeting: intentWeights.meeting,
    }).toEqual({
      defaultAovCents: 310_000,
      sendDelayMinutes: 0,
      seal: "Satış",
      pv: "OpsMantik_V1_Nabiz",
      meeting: 0.5,
    });
  });

  // Guarantee: what an operator may not do on screen the database does not do for them either.
  test("are changed by owners only", async () => {
    for (const person of [team.operator, team.viewer])
      await expect(set({ defaultAovCents: 1 }, person)).rejects.toMatchObject({ message: "FORBIDDEN" });
  });

  test.each([
    ["an unknown key", { avarageOrder: 1 }, "avarageOrder"],
    ["no settings at all", null, "settings"],
    ["an average order of nothing", { defaultAovCents: 0 }, "defaultAovCents"],
    ["a fraction of a cent", { defaultAovCents: 1.5 }, "defaultAovCents"],
    ["an average order in words", { defaultAovCents: "3100" }, "defaultAovCents"],
    ["a delay of two days", { sendDelayMinutes: 1441 }, "sendDelayMinutes"],
    ["a click older than Google asks", { clickMinAgeHours: 49 }, "clickMinAgeHours"],
    ["a reminder at once", { needsYouAfterHours: 0 }, "needsYouAfterHours"],
    ["a switch that is neither", { signalsEnabled: "yes" }, "signalsEnabled"],
    ["an unknown stage", { intentWeights: { maybe: 1 } }, "intentWeights.maybe"],
    ["a negative share", { intentWeights: { qualified: -0.1 } }, "intentWeights.qualified"],
    ["eleven orders", { intentWeights: { qualified: 10.1 } }, "intentWeights.qualified"],
    ["a seal that is worth nothing", { intentWeights: { sealed: 0 } }, "intentWeights.sealed"],
    ["a name for nothing we send", { conversionNames: { sale: "x" } }, "conversionNames.sale"],
    ["an empty name", { conversionNames: { seal: " " } }, "conversionNames.seal"],
    ["a name that hides a line", { conversionNames: { seal: "a\nb" } }, "conversionNames.seal"],
    ["one name for two", { conversionNames: { seal: "Lead", page_view: "Lead" } }, "conversionNames.page_view"],
    [
      "another's default as a name",
      { conversionNames: { INTENT_CAPTURED: "OpsMantik_V5_DEMIR_MUHUR" } },
      "conversionNames.INTENT_CAPTURED",
    ],
    ["a name without end", { conversionNames: { seal: "x".repeat(101) } }, "conversionNames.seal"],
  ])("refuse %s", async (_name, settings, field) => {
    await expect(set(settings)).rejects.toMatchObject({
      code: "PT400",
      message: "VALIDATION_FAILED",
      detail: JSON.stringify({ field }).replace(":", ": "),
    });
  });

  // Guarantee: two kinds of conversion are never added up at Google because they go by one name.
  test("refuse one name for two in the form, too, with words for it; exchanged names are fine", async () => {
    const { conversionNames } = await read();
    const parsed = deliveryInput.safeParse({ conversionNames: { ...conversionNames, seal: conversionNames.page_view } });
    expect(parsed.error?.issues).toMatchObject([{ path: ["conversionNames"], message: "SAME_NAME" }]);
    expect([en.errors.SAME_NAME, tr.errors.SAME_NAME]).toEqual([expect.any(String), expect.any(String)]);
    const exchanged = { ...conversionNames, seal: conversionNames.page_view, page_view: conversionNames.seal };
    await set({ conversionNames: exchanged });
    expect((await read()).conversionNames).toEqual(exchanged);
  });

  test("decide when a seal is sent", async () => {
    await set({ sendDelayMinutes: 25, clickMinAgeHours: 0 });
    const at = new Date("2026-11-10T12:00:00Z");
    const call = await newLead(db.sql, team, { at });
    await change(db.sql, { team }, "seal_call", { id: call, amountCents: 100 }, { at });
    await set({ sendDelayMinutes: 25, clickMinAgeHours: 7 });
    const other = await newLead(db.sql, team, { at });
    await change(db.sql, { team }, "seal_call", { id: other, amountCents: 100 }, { at });
    const rows = await db.sql`select not_before from public.offline_conversion_queue order by created_at, not_before`;
    expect(rows.map((row) => row.not_before.toISOString())).toEqual(["2026-11-10T12:25:00.000Z", "2026-11-10T19:00:00.000Z"]);
  });
});
