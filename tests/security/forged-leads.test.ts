import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { dropsOf, figuresOf, type IngestApp, type IngestSite, pageView, startIngestApp } from "#tests/support/ingest-app.ts";
import { stopClock } from "#tests/support/stop-clock.ts";

/** Nothing signs a WhatsApp click or a form. Whoever knows a site's public id can forge them; what one address range gains by it is bounded. */

let app: IngestApp;
beforeAll(async () => {
  app = await startIngestApp({ worker: "asleep" });
});
afterEach(() => void vi.useRealTimers());
afterAll(() => app.stop());

const lead = (site: IngestSite, ea = "whatsapp", change = {}) => pageView(site, { ec: "conversion", ea, ...change });
const leads = (site: IngestSite, count: number) => ({ events: Array.from({ length: count }, () => lead(site)) });
const from = (address: string) => ({ "x-forwarded-for": address });
const accepted = async (response: Response) =>
  ((await response.json()).results as string[]).filter((result) => result === "accepted").length;
/** A site whose plan is used up but for the units kept for leads. */
async function fullPlan(limit: number, leadSharePercent: number, settings: { hasTelephone?: false } = { hasTelephone: false }) {
  const site = await app.newSite({ plan: { limit, enforcement: "hard", leadSharePercent }, ...settings });
  const open = limit - Math.floor((limit * leadSharePercent) / 100);
  await app.sync(site, { events: Array.from({ length: open }, () => pageView(site)) });
  return site;
}

describe("one machine forges leads until a full hard plan takes no more", () => {
  // Guarantee: three quarters of the room stay for everybody else. Mutation: leave range_room out of v_unsigned.
  test("in one batch: a quarter of the leads' room, and real visitors find the rest", async () => {
    const site = await fullPlan(40, 50);
    const forged = await app.sync(site, leads(site, 30), from("203.0.113.7"));
    expect(await accepted(forged)).toBe(5);
    const refused = await app.sync(site, lead(site), from("203.0.113.7"));
    expect([refused.status, refused.headers.get("x-opsmantik-quota-exceeded")]).toEqual([429, "1"]);
    for (let visitor = 1; visitor <= 15; visitor++)
      expect((await app.sync(site, lead(site), from(`198.51.${visitor}.4`))).status).toBe(200);
    expect((await app.sync(site, lead(site), from("198.51.99.4"))).status).toBe(429);
    expect(await figuresOf(app.db, site)).toMatchObject({ billed: 40, captured: 40 });
  });

  // Mutation: leave note_range out.
  test("one by one, from every address of its range", async () => {
    const site = await fullPlan(40, 50);
    const statuses: number[] = [];
    for (let sent = 1; sent <= 8; sent++)
      statuses.push((await app.sync(site, lead(site, "form_submit"), from(`203.0.113.${sent}`))).status);
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 429, 429]);
  });

  test("from many networks of one IPv6 customer", async () => {
    const site = await fullPlan(40, 50);
    const statuses: number[] = [];
    for (let sent = 1; sent <= 6; sent++) statuses.push((await app.sync(site, lead(site), from(`2001:db8:1:${sent}::1`))).status);
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429]);
    expect((await app.sync(site, lead(site), from("2001:db8:2::1"))).status).toBe(200);
  });

  test("at once: the usage row's lock gives it no more", async () => {
    const site = await fullPlan(40, 50);
    const all = await Promise.all(Array.from({ length: 12 }, () => app.sync(site, lead(site), from("203.0.113.7"))));
    expect(all.filter(({ status }) => status === 200)).toHaveLength(5);
  });

  test("beside a telephone system: its signed half is untouched, and of the other half a quarter goes", async () => {
    const site = await fullPlan(40, 50, {});
    expect(await accepted(await app.sync(site, leads(site, 30), from("203.0.113.7")))).toBe(3);
    for (let call = 0; call < 10; call++) {
      const signing = { address: "203.0.113.7" }; // the system may stand in the same range
      expect((await app.call(site, { event_id: `PBX-${call}`, phone_number: "+905321112233" }, signing)).status).toBe(200);
    }
  });

  test("what came while the plan had room does not count against the range", async () => {
    const site = await app.newSite({ hasTelephone: false, plan: { limit: 40, enforcement: "hard", leadSharePercent: 50 } });
    expect(await accepted(await app.sync(site, leads(site, 12), from("203.0.113.7")))).toBe(12);
    expect(await accepted(await app.sync(site, leads(site, 20), from("203.0.113.7")))).toBe(8 + 5);
  });

  test("the month is over: its ranges are forgotten", async () => {
    const site = await fullPlan(40, 50);
    await app.sync(site, leads(site, 30), from("203.0.113.7"));
    await app.db.sql`update private.lead_room_taken set year_month = '2020-01' where site_id = ${site.siteUuid}`;
    await app.db.sql`select public.purge_usage_origins()`;
    expect(await app.db.sql`select from private.lead_room_taken where site_id = ${site.siteUuid}`).toHaveLength(0);
  });
});

describe("one machine fills an operator's desk with forged leads", () => {
  // Guarantee: 100 an hour from one range, whatever the plan; the tracker of a real visitor there tries again. Mutation: leave leadLimits out of syncLimits.
  test("and is turned away after 100 in an hour, unstored and unbilled; page views and other ranges go on, and the owner sees it", async () => {
    const site = await app.newSite();
    stopClock();
    expect((await app.sync(site, leads(site, 100), from("203.0.113.7"))).status).toBe(200);
    const refused = await app.sync(site, leads(site, 3), from("203.0.113.8"));
    expect([refused.status, refused.headers.get("x-opsmantik-ratelimit")]).toEqual([429, "1"]);
    expect(Number(refused.headers.get("retry-after"))).toBeLessThanOrEqual(900);
    expect((await app.sync(site, pageView(site), from("203.0.113.8"))).status).toBe(200);
    expect((await app.sync(site, lead(site), from("203.0.114.8"))).status).toBe(200);
    expect(await figuresOf(app.db, site)).toMatchObject({ billed: 102 });
    vi.useRealTimers();
    await expect.poll(() => dropsOf(app.db, site), { timeout: 10_000 }).toEqual({ ceiling: 3 });
  });

  // Mutation: compare event.ec as it was sent.
  test.each(["conver\0sion", "\0conversion"])("named %j, which the gate reads as a conversion", async (ec) => {
    const site = await app.newSite();
    stopClock();
    const disguised = { events: Array.from({ length: 100 }, () => lead(site, "whats\0app", { ec })) };
    expect((await app.sync(site, disguised, from("203.0.113.7"))).status).toBe(200);
    expect((await app.sync(site, lead(site), from("203.0.113.7"))).status).toBe(429);
  });

  test("slowly, below the hour's bound: not more than 500 in a day", async () => {
    const site = await app.newSite();
    const noon = Date.now() - (Date.now() % 86_400_000);
    let taken = 0;
    for (let hour = 0; hour < 12; hour += 2) {
      vi.useFakeTimers({ toFake: ["Date"], now: noon + hour * 3_600_000 });
      taken += (await app.sync(site, leads(site, 90), from("203.0.113.7"))).status === 200 ? 90 : 0;
    }
    expect(taken).toBe(450);
  });

  test("a visitor's refusal that such an event carries is kept", async () => {
    const site = await app.newSite();
    stopClock();
    await app.sync(site, leads(site, 100), from("203.0.113.7"));
    const fp = `visitor-${randomUUID()}`;
    expect((await app.sync(site, lead(site, "whatsapp", { meta: { fp }, consent_scopes: [] }), from("203.0.113.7"))).status).toBe(429);
    expect(await app.db.sql`select from public.consent_choices where site_id = ${site.siteUuid} and visitor_id = ${fp}`).toHaveLength(1);
  });
});
