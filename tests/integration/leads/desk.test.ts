import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { amountPresets, deskFigures, deskPage, leadDetail, openLeads } from "#lib/leads/desk-shapes.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { change, newLead } from "#tests/fixtures/leads.ts";
import { recordVisit } from "#tests/fixtures/record-visit.ts";
import { createTeam, handOver, type Person, type Team } from "#tests/fixtures/team.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

let db: TestDatabase;
let team: Team;
let other: Team;
/** Noon in Istanbul, so that an hour more or less is the same day. */
const now = new Date("2026-11-16T09:00:00Z");
const hours = (count: number) => new Date(now.getTime() - count * 3_600_000);
const days = (count: number) => hours(24 * count);

beforeAll(async () => {
  db = await createTestDatabase();
  team = await createTeam(db.sql, "desk");
  other = await handOver(db.sql, await createTeam(db.sql, "theirs", team.owner), "owner@elsewhere.test");
});
afterAll(() => db.drop());

const leads = async (filter: Record<string, unknown> = {}, on = team, person: Person = on.viewer) =>
  deskPage.parse(await callAs(db.sql, person, (tx) => tx`select public.desk_leads(${on.siteId}, ${tx.json(filter as never)})`, now));
const lead = async (id: string, person = team.operator, siteId = team.siteId) =>
  leadDetail.parse(await callAs(db.sql, person, (tx) => tx`select public.desk_lead(${siteId}, ${id})`, now));
const figures = async (on = team) =>
  deskFigures.parse(await callAs(db.sql, on.viewer, (tx) => tx`select public.desk_figures(${on.siteId})`, now));
const presets = async (on = team) =>
  amountPresets.parse(await callAs(db.sql, on.viewer, (tx) => tx`select public.amount_presets(${on.siteId})`, now));
const seal = (id: string, amountCents: number, at: Date, note?: string, on = team) =>
  change(db.sql, { team: on }, "seal_call", { id, amountCents, ...(note && { note }) }, { at });

describe("a page of leads", () => {
  // Guarantee: nobody scrolls past a lead twice or misses one, even when many came in the same instant.
  test("walks every lead once, newest first", async () => {
    const own = await createTeam(db.sql, "pages", team.owner);
    const made: string[] = [];
    for (let index = 0; index < 120; index++) made.push(await newLead(db.sql, own, { at: hours(Math.floor(index / 40)) }));
    const seen: string[] = [];
    let cursor: string | null | undefined;
    do {
      const page = await leads(cursor ? { cursor } : {}, own);
      expect(page.leads.length).toBeLessThanOrEqual(50);
      seen.push(...page.leads.map(({ id }) => id));
      cursor = page.next;
    } while (cursor);
    expect(seen).toHaveLength(120);
    expect(new Set(seen)).toEqual(new Set(made));
    const order = await db.sql`select id from public.calls where site_id = ${own.siteUuid} order by called_at desc, id desc`;
    expect(seen).toEqual(order.map(({ id }) => id));
  });

  test("is narrowed by state, channel, score, click, day, campaign and the end of the number", async () => {
    const own = await createTeam(db.sql, "filters", team.owner);
    const phone = await newLead(db.sql, own, { at: hours(1), phone: "+905325554107", utm: { campaign: "Kadıköy", term: "kombi servisi" } });
    const form = await newLead(db.sql, own, { at: days(3), action: "form_submit", gclid: null });
    const junk = await newLead(db.sql, own, { at: hours(2), action: "whatsapp", phone: "0533 555 41 08" });
    await change(db.sql, { team: own }, "change_call", { id: junk, to: "junk", reason: "Spam" }, { at: hours(1) });
    const sealed = await newLead(db.sql, own, { at: hours(3), phone: "+442079460123" });
    await seal(sealed, 50_000, hours(1), undefined, own);
    const found = async (filter: Record<string, unknown>) => (await leads(filter, own)).leads.map(({ id }) => id);
    expect(await found({ view: "open" })).toEqual([phone, form]);
    expect(await found({ view: "sealed" })).toEqual([sealed]);
    expect(await found({ view: "junk" })).toEqual([junk]);
    expect(await found({ view: "needs_you" })).toEqual([form]);
    expect(await found({ channel: "form" })).toEqual([form]);
    expect(await found({ hasClick: false })).toEqual([form]);
    expect(await found({ scoreMin: 51 })).toEqual([]);
    expect(await found({ from: "2026-11-13", to: "2026-11-13" })).toEqual([form]);
    expect(await found({ campaign: "Kadıköy" })).toEqual([phone]);
    expect(await found({ phoneEnding: "4107" })).toEqual([phone]);
    expect(await found({ phoneEnding: "41" })).toEqual([]);
    expect(await found({ phoneEnding: "5554108" })).toEqual([junk]);
    expect((await leads({}, own)).todayCount).toBe(3);
  });

  test.each([{ cursor: "nonsense" }, { from: "2026-02-31" }, { phoneEnding: "%" }, { phoneEnding: "1" }])(
    "%j is refused as 400",
    async (filter) => {
      await expect(leads(filter)).rejects.toMatchObject({ code: "PT400", message: "VALIDATION_FAILED" });
    },
  );

  // Guarantee: a list that is left open on a counter shows no customer's number.
  test("shows numbers masked, to everybody; an operator gets the whole one of one lead", async () => {
    for (const [given, shown] of [
      ["+905325554107", "+90 532 ••• 41 07"],
      ["0532 555 41 07", "0532 ••• 41 07"],
      ["+442079460123", "+44 ••• 01 23"],
      ["155", "••• 55"],
    ]) {
      const id = await newLead(db.sql, team, { at: hours(1), phone: given ?? null });
      const withoutIds = (answer: unknown) => JSON.stringify(answer, (key, value) => (/(^i|I)d$|At$|^asOf$/.test(key) ? undefined : value));
      const page = withoutIds(await leads({}, team, team.owner)); // three digits stand in many an id
      expect(page).toContain(shown);
      expect(page).not.toContain(given);
      expect((await lead(id)).fullPhone).toBe(given);
      expect(withoutIds(await lead(id, team.viewer))).not.toContain(given);
    }
  });

  test("puts on top what waits too long or whose click runs out", async () => {
    const own = await createTeam(db.sql, "needs", team.owner);
    const waiting = await newLead(db.sql, own, { at: hours(49) });
    const expiring = await newLead(db.sql, own, { at: days(84) });
    const fresh = await newLead(db.sql, own, { at: hours(47) });
    const gone = await newLead(db.sql, own, { at: days(91) });
    const decided = await newLead(db.sql, own, { at: hours(60) });
    await seal(decided, 1000, hours(50), undefined, own);
    const page = await leads({ view: "open" }, own);
    expect(page.needsYou.map(({ id, needsYou }) => [id, needsYou])).toEqual([
      [expiring, "CLICK_EXPIRES"],
      [waiting, "WAITING"],
    ]);
    expect(page.leads.map(({ id }) => id)).toEqual([fresh, waiting, expiring, gone]);
    expect(page.leads.at(-1)?.clickBlock).toBe("CLICK_EXPIRED");
    expect(page.open).toBe(3);
    const counts = openLeads.parse(await callAs(db.sql, own.viewer, (tx) => tx`select public.open_leads()`, now));
    expect(counts).toEqual({ [own.siteId]: 3 });
  });
});

describe("leads by id", () => {
  // Guarantee: a screen that keeps a row which left its filter, or that lies below the first page, learns how the row is now.
  test("are given as they are, whatever the filter, newest first", async () => {
    const own = await createTeam(db.sql, "by-id", team.owner);
    const moved = await newLead(db.sql, own, { at: hours(5) });
    const corrected = await newLead(db.sql, own, { at: hours(4) });
    await newLead(db.sql, own, { at: hours(3) });
    await seal(corrected, 90_000, hours(2), undefined, own);
    const [before] = (await leads({ view: "sealed" }, own)).leads;
    await change(db.sql, { team: own }, "change_call", { id: moved, to: "junk" }, { at: hours(0.3) });
    await change(db.sql, { team: own }, "correct_sale", { id: before?.sale?.id, amountCents: 80_000 }, { at: hours(0.2) });
    const page = await leads({ view: "open", ids: [moved, corrected] }, own);
    expect(page.leads.map(({ id, status }) => [id, status])).toEqual([
      [corrected, "sealed"],
      [moved, "junk"],
    ]);
    expect(page.leads[0]?.sale?.amountCents).toBe(80_000);
    expect([page.open, page.next]).toEqual([1, null]);
  });

  // Guarantee: one answer stays small, and an id of another customer tells nothing.
  test("are at most a hundred, and none of another site", async () => {
    const own = await createTeam(db.sql, "many-ids", team.owner);
    const made: string[] = [];
    for (let index = 0; index < 101; index++) made.push(await newLead(db.sql, own, { at: hours(1) }));
    expect((await leads({ ids: made }, own)).leads).toHaveLength(100);
    const theirs = await newLead(db.sql, other, { at: hours(1) });
    expect((await leads({ ids: [theirs] }, own)).leads).toEqual([]);
  });
});

describe("one lead", () => {
  test("tells its journey over all visits, its ledger with who and when, and can be undone for ten minutes", async () => {
    const visitor = "journey-visitor";
    const page = { url: "https://desk.test/kombi?x=1#y", utm: { campaign: "Kadıköy", term: "kombi servisi" } };
    await recordVisit(db.sql, team.siteUuid, visitor, [
      { at: days(4), ...page, gclid: "click-1", city: "Kadıköy" },
      { at: new Date(days(4).getTime() + 60_000), ...page, action: "scroll_depth", value: 50 },
    ]);
    const [id = ""] = await recordVisit(db.sql, team.siteUuid, visitor, [
      { at: hours(1), ...page, gclid: "click-2" },
      { at: hours(0.9), ...page, category: "conversion", action: "phone_call", intentStamp: "journey-1", phone: "+905325550000" },
    ]);
    await seal(id, 425_000, hours(0.1), "Parça, acil");
    const sale = (await lead(id)).sale;
    await change(db.sql, { team }, "correct_sale", { id: sale?.id, amountCents: 400_000, reason: "İndirim" }, { at: hours(0.05) });
    const found = await lead(id);
    expect(found).toMatchObject({
      visitsBefore: 1,
      campaign: "Kadıköy",
      keyword: "kombi servisi",
      pagePath: "/kombi",
      clickKind: "gclid",
      points: { returningAdUser: 25 },
      changedBy: team.operator.email,
      changedByYou: true,
      undo: { kind: "correct", byYou: true, amountCents: 400_000, beforeCents: 425_000, currency: "TRY" },
      sale: { amountCents: 400_000, note: "Parça, acil", isPredicted: false, deliveryBlock: null, atGoogle: null },
      delivery: { status: "QUEUED", verdict: null, pendingAdjustment: null },
    });
    expect(found.visits.map(({ events }) => events.map(({ action }) => action))).toEqual([
      ["view", "scroll_depth"],
      ["view", "phone_call"],
    ]);
    expect(found.ledger.map(({ kind, amountCents, deltaCents, by }) => [kind, amountCents, deltaCents, by])).toEqual([
      ["SEAL", 425_000, 425_000, team.operator.email],
      ["CORRECT", 400_000, -25_000, team.operator.email],
    ]);
    expect(found.history.map(({ contract, to, note }) => [contract, to, note])).toEqual([
      ["call", "sealed", null],
      ["sale", "CONFIRMED", "İndirim"],
    ]);
    const eleven = new Date(hours(0.05).getTime() + 11 * 60_000);
    const later = leadDetail.parse(await callAs(db.sql, team.operator, (tx) => tx`select public.desk_lead(${team.siteId}, ${id})`, eleven));
    expect(later.undo).toBeNull();
  });

  test("says why Google cannot be told", async () => {
    const direct = await newLead(db.sql, team, { at: hours(1), gclid: null });
    const silent = await newLead(db.sql, team, { at: hours(1), marketingConsent: false, marketingDefault: false });
    expect((await lead(direct)).clickBlock).toBe("NO_CLICK_ID");
    expect((await lead(silent)).clickBlock).toBe("NO_CONSENT");
    await seal(direct, 10_000, now);
    expect(await lead(direct)).toMatchObject({ sale: { deliveryBlock: "NO_CLICK_ID" }, delivery: null });
  });

  // Guarantee: another customer's lead cannot be told from one that does not exist.
  test("of another site is not there", async () => {
    const theirs = await newLead(db.sql, other, { at: hours(1) });
    await expect(lead(theirs)).rejects.toMatchObject({ code: "PT404" });
    await expect(lead(theirs, other.operator)).rejects.toMatchObject({ code: "PT404" });
    await expect(lead(theirs, team.operator, other.siteId)).rejects.toMatchObject({ code: "PT404" });
    await expect(leads({}, other, team.owner)).rejects.toMatchObject({ code: "PT404" });
    await expect(figures({ ...other, viewer: team.viewer })).rejects.toMatchObject({ code: "PT404" });
    await expect(presets({ ...other, viewer: team.viewer })).rejects.toMatchObject({ code: "PT404" });
    const counts = openLeads.parse(await callAs(db.sql, team.viewer, (tx) => tx`select public.open_leads()`, now));
    expect(Object.keys(counts)).toEqual([team.siteId]);
  });
});

// Guarantee: a page of the desk costs the same at any depth. An index serves it only where both list the same states.
// Mutation: a state more in open_lead_states() or ended_lead_states().
test("readers and indexes list the same states of a lead", async () => {
  const [listed] = await db.sql`select private.open_lead_states() as open, private.ended_lead_states() as ended`;
  const statesOf = async (index: string) => {
    const [row] = await db.sql`select pg_get_expr(indpred, indrelid) as predicate from pg_index where indexrelid = ${index}::regclass`;
    return [...String(row?.predicate).matchAll(/'(\w+)'/g)].map(([, state]) => state);
  };
  expect(listed).toEqual({
    open: await statesOf("public.open_leads_newest_first"),
    ended: await statesOf("public.ended_leads_newest_first"),
  });
});
