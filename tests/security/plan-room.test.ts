import { randomUUID } from "node:crypto";
import type postgres from "postgres";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { leadActions } from "#lib/channels.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { createPerson } from "#tests/fixtures/team.ts";
import { figuresOf, type IngestApp, type IngestSite, pageView, startIngestApp } from "#tests/support/ingest-app.ts";
import { stopClock } from "#tests/support/stop-clock.ts";
import { whileOpen } from "#tests/support/while-open.ts";

/** A stranger has a site's public id and a forged origin. A hard plan refuses what is over it; the room of a call stays. */

let app: IngestApp;
let site: IngestSite;
beforeAll(async () => {
  app = await startIngestApp({ worker: "asleep" });
});
afterEach(() => void vi.useRealTimers());
afterAll(() => app.stop());

const hardPlan = (limit: number, leadSharePercent: number, settings: { hasTelephone?: false } = { hasTelephone: false }) =>
  app.newSite({ plan: { limit, enforcement: "hard", leadSharePercent }, ...settings });
const hardPlanWithTelephone = (limit: number, leadSharePercent: number) => hardPlan(limit, leadSharePercent, {});
const lead = (ea: string = "phone_call") => pageView(site, { ec: "conversion", ea });
const views = (count: number) => ({ events: Array.from({ length: count }, () => pageView(site)) });
const resultsOf = async (...events: Record<string, unknown>[]): Promise<string[]> =>
  (await (await app.sync(site, { events })).json()).results;
const setShare = (percent: number, owner = app.owner) =>
  callAs(app.db.sql, owner, (tx) => tx`select public.set_lead_share(${site.siteId}, ${percent})`);
const billed = async () => (await figuresOf(app.db, site)).billed;
const usedOf = async () => {
  const [row] = await app.db.sql`select coalesce(sum(event_count), 0)::int as used
    from public.site_usage_monthly where site_id = ${site.siteUuid}`;
  return row?.used;
};
/** One event straight into the gate, inside a transaction that the test holds open. */
const admit = (name: string) => (tx: postgres.TransactionSql) =>
  tx`select public.admit_events(${site.siteUuid}, ${tx.json([{ k: randomUUID().replaceAll("-", "").repeat(2), e: null, n: name, p: {} }])})`;

describe("a plan of 20 events, of which an owner keeps the usual tenth for leads", () => {
  beforeEach(async () => {
    site = await hardPlan(20, 10);
  });

  // Mutation: v_open := v_room.
  test("a flood of page views fills the plan: the next call, WhatsApp message or form is taken, and no further page view", async () => {
    const flood = await Promise.all(Array.from({ length: 8 }, () => app.sync(site, views(5))));
    expect(flood.some((response) => response.status === 429)).toBe(true);
    expect(await billed()).toBe(18);
    expect((await app.sync(site, lead("whatsapp"))).status).toBe(200);
    const refused = await app.sync(site, pageView(site));
    expect(refused.status).toBe(429);
    expect(refused.headers.get("x-opsmantik-quota-exceeded")).toBe("1");
    expect((await app.sync(site, lead("form_submit"))).status).toBe(200);
    expect((await app.sync(site, lead())).status).toBe(429);
    expect(await figuresOf(app.db, site)).toMatchObject({ billed: 20, captured: 20 });
    expect(await usedOf()).toBe(20);
  });

  test("a signed report of a telephone system is a lead: page views leave its room", async () => {
    site = await hardPlanWithTelephone(20, 10);
    await app.sync(site, views(20));
    expect((await app.call(site, { event_id: "PBX-1", phone_number: "+905321112233" })).status).toBe(200);
    expect((await app.call(site, { event_id: "PBX-2", phone_number: "+905321112234" })).status).toBe(200);
    expect((await app.call(site, { event_id: "PBX-3", phone_number: "+905321112235" })).status).toBe(429);
  });

  test.each(["conversion/other", "interaction/phone_call", "lead"])("an event that is called %s does not pass for a lead", async (name) => {
    await app.sync(site, views(18));
    const [category = "", action = "view"] = name.split("/");
    expect((await app.sync(site, pageView(site, { ec: category, ea: action }))).status).toBe(429);
  });

  test("a repeat of a page view is a duplicate also when only leads have room", async () => {
    stopClock(); // without an id, the same event counts once in five seconds
    const event = pageView(site, { eid: undefined, u: `${site.origin}/same` });
    await app.sync(site, event);
    await app.sync(site, views(17));
    expect((await app.sync(site, event)).headers.get("x-opsmantik-dedup")).toBe("1");
  });
});

// Guarantee: what anybody can send never refuses what only the telephone system can. Mutation: signed_events returns 0.
describe("a stranger forges leads until a plan of 20, half of it kept for leads, takes no more", () => {
  const report = (id: string) => app.call(site, { event_id: id, phone_number: "+905321112233" });
  const forged = (count: number) => ({ events: Array.from({ length: count }, () => lead()) });
  const statuses = async (...ids: string[]) => {
    const given: number[] = [];
    for (const id of ids) given.push((await report(id)).status);
    return given;
  };
  beforeEach(async () => {
    site = await hardPlanWithTelephone(20, 50);
  });

  test("in batches: five units stay for signed calls, and no sixth", async () => {
    expect((await resultsOf(...forged(30).events)).filter((result) => result === "accepted")).toHaveLength(15);
    expect(await statuses("A", "B", "C", "D", "E", "F")).toEqual([200, 200, 200, 200, 200, 429]);
    expect(await figuresOf(app.db, site)).toMatchObject({ billed: 20, captured: 20 });
  });

  test("one by one, with page views among them", async () => {
    await app.sync(site, views(10));
    for (let sent = 0; sent < 5; sent++) expect(await resultsOf(lead("whatsapp"))).toEqual(["accepted"]);
    expect(await resultsOf(lead("form_submit"))).toEqual(["quota"]);
    expect(await resultsOf(pageView(site), lead())).toEqual(["quota", "quota"]);
    expect(await statuses("A")).toEqual([200]);
    expect(await resultsOf(lead())).toEqual(["quota"]);
  });

  test("with an intent stamp, as a tracker reports a call: the signed report of the same click still finds its room", async () => {
    await app.sync(site, forged(15));
    const click = pageView(site, { ec: "conversion", ea: "phone_call", meta: { fp: "ayse", intent_stamp: "stamp" } });
    expect(await resultsOf(click)).toEqual(["quota"]);
    expect((await app.call(site, { intent_stamp: "stamp", phone_number: "+905321112233" })).status).toBe(200);
    expect(await billed()).toBe(16);
  });

  test("where no telephone system signs, leads have the whole share", async () => {
    site = await hardPlan(20, 50);
    expect((await resultsOf(...forged(30).events)).filter((result) => result === "accepted")).toHaveLength(20);
  });
});

describe("at the edge", () => {
  test("the last open unit is a page view's, the next unit only a lead's", async () => {
    site = await hardPlan(10, 20);
    await app.sync(site, views(7));
    expect(await resultsOf(pageView(site))).toEqual(["accepted"]);
    expect(await resultsOf(pageView(site))).toEqual(["quota"]);
    expect(await resultsOf(lead())).toEqual(["accepted"]);
    expect(await resultsOf(lead())).toEqual(["accepted"]);
    expect(await resultsOf(lead())).toEqual(["quota"]);
  });

  // Mutation: refuse the last of the batch, whatever they are.
  test("a batch that mixes both is judged event by event, in the order sent", async () => {
    site = await hardPlan(10, 20);
    await app.sync(site, views(7));
    const [view, call] = [() => pageView(site), () => lead()];
    const mixed = await resultsOf(view(), call(), view(), call(), view(), call());
    expect(mixed).toEqual(["accepted", "accepted", "quota", "accepted", "quota", "quota"]);
    expect(await figuresOf(app.db, site)).toMatchObject({ billed: 10, captured: 10 });
    expect(await usedOf()).toBe(10);
  });

  test("a lead that comes early takes an open unit: the leads' part is always the last one", async () => {
    site = await hardPlan(10, 20);
    expect(await resultsOf(lead(), ...views(8).events)).toEqual([...Array(8).fill("accepted"), "quota"]);
    expect(await resultsOf(lead(), lead(), lead())).toEqual(["accepted", "accepted", "quota"]);
  });

  test("of a share that is no whole number of events the smaller one is kept", async () => {
    site = await hardPlan(19, 10);
    expect((await resultsOf(...views(20).events)).filter((result) => result === "accepted")).toHaveLength(18);
  });

  test("with 0 % page views may use all of the plan, with 100 % none of it", async () => {
    site = await hardPlan(2, 0);
    expect(await resultsOf(pageView(site), pageView(site), lead())).toEqual(["accepted", "accepted", "quota"]);
    site = await hardPlan(2, 100);
    expect(await resultsOf(pageView(site), lead(), pageView(site), lead(), lead())).toEqual([
      "quota",
      "accepted",
      "quota",
      "accepted",
      "quota",
    ]);
  });

  test("a soft plan that ends at a multiple keeps its share too, and a plan without an end refuses nothing", async () => {
    site = await app.newSite({ hasTelephone: false, plan: { limit: 5, enforcement: "soft", capMultiplier: 2, leadSharePercent: 10 } });
    expect((await resultsOf(...views(10).events)).at(-1)).toBe("quota");
    expect(await resultsOf(lead())).toEqual(["accepted"]);
    site = await app.newSite({ plan: { limit: 5, enforcement: "soft", leadSharePercent: 100 } });
    expect(new Set(await resultsOf(...views(10).events))).toEqual(new Set(["accepted"]));
  });
});

// Mutation: read the usage row without FOR UPDATE in lock_usage.
describe("two requests race for the last unit", () => {
  test.each([
    ["the open part: a second page view", "interaction/view", () => pageView(site), 429],
    ["the open part: a call, which takes the leads' part instead", "interaction/view", () => lead(), 200],
    ["the open part: a page view after a call", "conversion/phone_call", () => pageView(site), 429],
  ])("of %s", async (_name, first, second, status) => {
    site = await hardPlan(2, 50);
    expect((await whileOpen(app.db.sql, admit(first), () => app.sync(site, second()))).status).toBe(status);
  });

  test("of the leads' part: one of them has it", async () => {
    site = await hardPlan(2, 50);
    await app.sync(site, pageView(site));
    const second = await whileOpen(app.db.sql, admit("conversion/form_submit"), () => app.sync(site, lead()));
    expect(second.status).toBe(429);
    expect(await billed()).toBe(2);
  });

  test("when the first is rolled back, the second has it", async () => {
    site = await hardPlan(2, 50);
    expect((await whileOpen(app.db.sql, admit("interaction/view"), () => app.sync(site, pageView(site)), "rollback")).status).toBe(200);
  });
});

describe("the share", () => {
  test("changed in mid-month, holds from the next event on, in both directions", async () => {
    site = await hardPlan(10, 0);
    await app.sync(site, views(6));
    await setShare(50);
    expect(await resultsOf(pageView(site), lead())).toEqual(["quota", "accepted"]);
    await setShare(20);
    expect(await resultsOf(pageView(site), pageView(site), lead())).toEqual(["accepted", "quota", "accepted"]);
    await app.db.sql`select public.set_site_plan(${site.siteId}, 'Larger', 20, 'hard', 'TRY')`;
    const [plan] = await app.db.sql`select lead_share_percent as share from public.site_plans where site_id = ${site.siteUuid}`;
    expect(plan?.share, "another plan leaves the owner's share").toBe(20);
  });

  test.each([-1, 101, null])("%s is no percentage", async (percent) => {
    site = await hardPlan(10, 10);
    await expect(setShare(percent as number)).rejects.toMatchObject({ code: "PT400", message: "VALIDATION_FAILED" });
  });

  test("is not for a stranger to change", async () => {
    site = await hardPlan(10, 10);
    const stranger = await createPerson(app.db.sql, `stranger-${randomUUID()}@elsewhere.test`);
    await expect(setShare(0, stranger)).rejects.toMatchObject({ code: "PT404" });
  });
});

// Guarantee: SQL and the worker mean the same acts by a lead.
test("what SQL calls a lead is what lib/channels.ts calls one", async () => {
  for (const action of leadActions) {
    const [row] = await app.db.sql`select private.is_lead(${`conversion/${action}`}) as is`;
    expect(row?.is, action).toBe(true);
  }
});

// Guarantee: readers may rely on a plan. Mutation: drop the trigger sites_begin_with_a_plan.
test("a new site has a plan from its first moment, and nobody takes it away", async () => {
  site = await app.newSite();
  const planned = () =>
    app.db.sql`select name, monthly_limit, enforcement, currency from public.site_plans where site_id = ${site.siteUuid}`;
  expect(await planned()).toEqual([{ name: "Open", monthly_limit: null, enforcement: "soft", currency: "TRY" }]);
  await expect(app.db.sql`delete from public.site_plans`).rejects.toMatchObject({ message: "RECORD_IS_PERMANENT" });
});
