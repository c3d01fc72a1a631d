/** Demo billing: a plan per site, some months of counted events, their invoices, and what was refused. */

import { createHash } from "node:crypto";
import type postgres from "postgres";
import { daysOf, shiftMonth } from "#lib/billing/year-month.ts";
import type { CapturedEvent } from "#lib/ingest/event-shape.ts";
import type { SiteId, SiteUuid } from "#lib/site.ts";
import { siteUuidShape } from "#lib/site.ts";
import { freezeMonth } from "#tests/fixtures/counted-events.ts";
import { blankEvent, storeBatch } from "#tests/fixtures/record-visit.ts";
import { callAt } from "#tests/fixtures/service.ts";

interface BillingSite {
  siteId: SiteId;
  domain: string;
}

interface DemoPlan {
  name: string;
  limit: number;
  currency: string;
  baseCents: number;
  overageCentsPer1000: number;
  /** Events of an ordinary weekday; weekends bring two thirds. */
  dailyEvents: number;
}

const plans: DemoPlan[] = [
  { name: "Standard", limit: 60_000, currency: "TRY", baseCents: 149_000, overageCentsPer1000: 3000, dailyEvents: 26 },
  { name: "Starter", limit: 400, currency: "GBP", baseCents: 2900, overageCentsPer1000: 5000, dailyEvents: 18 },
];
const closedMonths = 3;
/** Three days ago a network that nobody knows sent this many page views to the first site, so that the demo has an unusual day. */
const flood = { daysAgo: 3, batches: 3, batchEvents: 80, network: "203.0.113.0/24", browser: "other" };
const origins = [
  { network: "192.0.2.0/24", browser: "chrome" },
  { network: "192.0.2.0/24", browser: "safari" },
  { network: "198.51.100.0/24", browser: "samsung" },
  { network: "2001:db8:7::/48", browser: "chrome" },
  { network: "2001:db8:9::/48", browser: "firefox" },
];
const paths = ["/", "/fiyatlar", "/iletisim", "/blog/kis-bakimi", "/hizmetler"];
const actions = ["interaction/view", "interaction/view", "interaction/view", "interaction/scroll_depth"];

/** Gives each site the plan in its place in the list. Seeding again finds every event a repeat and counts nothing twice. */
export async function seedBilling(sql: postgres.Sql, sites: BillingSite[], now = new Date()): Promise<void> {
  const thisMonth = now.toISOString().slice(0, 7);
  const firstMonth = shiftMonth(thisMonth, -closedMonths);
  for (const [index, plan] of plans.entries()) {
    const site = sites[index];
    if (!site) continue;
    const [row] = await sql`select s.id, s.created_at as created, p.monthly_limit is not null as planned
      from public.sites s join public.site_plans p on p.site_id = s.id where s.public_id = ${site.siteId}`;
    if (row?.planned !== false) continue;
    // The site is younger than its first invoices; the plan that it began with must not price the later ones.
    for (const at of [`${firstMonth}-01T00:00:00Z`, row.created]) await callAt(sql, at, (tx) => givePlan(tx, site, plan));
    const siteUuid = siteUuidShape.parse(row.id);
    const days = Array.from({ length: closedMonths + 1 }, (_, back) => daysOf(shiftMonth(firstMonth, back))).flat();
    const seeded = { siteUuid, site, plan, now };
    // Stored at once, since the billing page shows where that day's units came from; the worker stores the rest when the demo runs.
    if (index === 0) {
      await admitDays(sql, { ...seeded, days: [floodDay(now)] });
      await admitFlood(sql, seeded);
      while ((await sql.begin((tx) => storeBatch(tx))) > 0);
    }
    await admitDays(sql, { ...seeded, days: days.filter((day) => index !== 0 || day !== floodDay(now)) });
  }
  for (let back = closedMonths; back >= 1; back--) {
    const month = shiftMonth(thisMonth, -back);
    const frozenAt = `${shiftMonth(month, 1)}-03T02:25:00Z`;
    if (frozenAt < now.toISOString()) await freezeMonth(sql, frozenAt, month);
  }
  await sql`select public.fold_drops(), public.reconcile_usage()`;
}

const givePlan = (tx: postgres.TransactionSql, { siteId }: BillingSite, plan: DemoPlan) =>
  tx`select public.set_site_plan(${siteId}, ${plan.name}, ${plan.limit}, 'soft', ${plan.currency}, null, ${plan.baseCents}, ${plan.overageCentsPer1000})`;

interface Seeded {
  siteUuid: SiteUuid;
  site: BillingSite;
  plan: DemoPlan;
  now: Date;
}

/** Four times a day, in one transaction per site: a few hundred calls of a few events each. */
async function admitDays(sql: postgres.Sql, { siteUuid, site, plan, days, now }: Seeded & { days: string[] }): Promise<void> {
  await sql.begin(async (tx) => {
    for (const day of days) {
      for (const [turn, hour] of ["07:12", "10:40", "13:05", "16:48"].entries()) {
        const moment = `${day}T${hour}:00Z`;
        if (moment > now.toISOString()) return;
        const events = eventsOf(site, day, Math.round(eventsOnDay(plan, day) / 4), turn);
        const repeats = turn === 1 ? events.slice(0, 1) : [];
        const robots = turn === 3 ? 1 + (Number(day.slice(-2)) % 3) : 0;
        await tx`select set_config('opsmantik.now', ${moment}, true), public.admit_events(${siteUuid}, ${tx.json([...events, ...repeats])}),
          public.count_drops(${siteUuid}, 'bot', ${robots}), public.count_drops(${siteUuid}, 'consent', ${robots === 3 ? 2 : 0})`;
      }
    }
  });
}

const floodDay = (now: Date) => new Date(now.getTime() - flood.daysAgo * 86_400_000).toISOString().slice(0, 10);

async function admitFlood(sql: postgres.Sql, { siteUuid, site, now }: Seeded): Promise<void> {
  const day = floodDay(now);
  for (let batch = 0; batch < flood.batches; batch++) {
    const { network, browser } = flood;
    const events = eventsOf(site, day, flood.batchEvents, 10 + batch).map((event) => ({ ...event, p: { ...event.p, network, browser } }));
    await callAt(sql, `${day}T03:2${batch}:00Z`, (tx) => tx`select public.admit_events(${siteUuid}, ${tx.json(events)})`);
  }
}

/** The same number for the same day on every machine, with a busy week and a quiet weekend. */
function eventsOnDay({ dailyEvents }: DemoPlan, day: string): number {
  const weekday = new Date(`${day}T00:00:00Z`).getUTCDay();
  const wave = 1 + 0.12 * Math.sin(Number(day.slice(-2)) * 1.7);
  return dailyEvents * wave * ([0, 6].includes(weekday) ? 0.66 : 1);
}

function eventsOf({ siteId, domain }: BillingSite, day: string, count: number, turn: number) {
  return Array.from({ length: count }, (_, index) => {
    const name = actions[index % actions.length] ?? "interaction/view";
    const visitor = createHash("sha256")
      .update(`${siteId}/${day}/${turn}/${Math.floor(index / 3)}`)
      .digest("hex")
      .slice(0, 32);
    const [category = "", action = ""] = name.split("/");
    const url = `https://${domain}${paths[(index + turn) % paths.length]}`;
    const origin = origins[Number.parseInt(visitor.slice(0, 4), 16) % origins.length];
    const captured: CapturedEvent = {
      ...blankEvent,
      ...origin,
      visitor,
      category,
      action,
      url,
      value: action === "scroll_depth" ? 60 : null,
    };
    return { k: createHash("sha256").update(`${visitor}/${name}/${url}/${index}`).digest("hex"), e: null, n: name, p: captured };
  });
}
