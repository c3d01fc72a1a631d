import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type DeliveryDays, deliveryDays } from "#lib/oci/queue/days.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { copyDelivered } from "#tests/fixtures/bulk-rows.ts";
import { change } from "#tests/fixtures/leads.ts";
import { claimForScript, claimForWorker, minutesLater, type Result, sealLead, settleClaim } from "#tests/fixtures/queue.ts";
import { createApiTeam, createQueueTeam } from "#tests/fixtures/queue-team.ts";
import { service } from "#tests/fixtures/service.ts";
import { handOver, type Team } from "#tests/fixtures/team.ts";
import { listRows } from "#tests/support/control.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";
import { watchPlans } from "#tests/support/watched-plans.ts";

let db: TestDatabase;
let team: Team;
let other: Team;
beforeAll(async () => {
  db = await createTestDatabase();
  team = await createApiTeam(db.sql, "days");
  other = await handOver(db.sql, await createQueueTeam(db.sql, "others", team.owner), "owner@others.test");
});
afterAll(() => db.drop());

// Istanbul is three hours ahead: 20:59 UTC and 21:01 UTC are two days there.
const beforeMidnight = new Date("2026-11-16T20:59:00Z");
const afterMidnight = new Date("2026-11-16T21:01:00Z");

const read = (site: Team, from?: string, to?: string, person = site.viewer): Promise<DeliveryDays> =>
  callAs(
    db.sql,
    person,
    (tx) => tx`select public.delivery_days(${site.siteId}, ${from ?? null}::date, ${to ?? null}::date)`,
    new Date("2026-11-20T10:00:00Z"),
  );

/** Sends all that is due in one request and gives its id. */
async function send(site: Team, at: Date, more: Partial<Result> = {}): Promise<string> {
  const requestId = randomUUID();
  await settleClaim(
    db.sql,
    site,
    await claimForWorker(db.sql, site, { at }),
    (_row, index) => ({ outcome: "COMPLETED", requestId, recordIndex: index, ...more }),
    { at, batch: { outcome: "success" } },
  );
  return requestId;
}
const verdicts = (site: Team, requestId: string, answer: Record<string, unknown>) =>
  service(
    db.sql,
    "record_verdicts",
    { p_site_id: site.siteUuid, p_request_id: requestId, p_answer: { status: "PARTIAL_SUCCESS", verdicts: [], rest: null, ...answer } },
    minutesLater(30 * 60),
  );

const nothing = {
  sent: { script: 0, data_manager: 0, ads_api: 0, by_hand: 0 },
  ...{ confirmed: 0, duplicate: 0, rejected: 0, unknown: 0, waiting: 0, noVerdict: 0 },
  ...{ confirmedCents: 0, rejectedCents: 0, restated: 0, retracted: 0, adjustmentsRejected: 0 },
};

describe("what was sent against what Google says", () => {
  // Guarantee: the figures that a customer compares with Google Ads stand on the days that Google Ads shows them on.
  test("counts each conversion on its day in the site's time zone, by its way and its verdict", async () => {
    for (const amountCents of [100, 200, 300, 400]) await sealLead(db.sql, team, { amountCents });
    const first = await send(team, beforeMidnight);
    await verdicts(team, first, {
      rest: "CONFIRMED",
      verdicts: [
        { index: 1, verdict: "REJECTED", reason: "CLICK_NOT_FOUND" },
        { index: 2, verdict: "DUPLICATE" },
        { index: 3, verdict: "UNKNOWN" },
      ],
    });
    await sealLead(db.sql, team, { amountCents: 5_000 });
    await send(team, afterMidnight);
    const answer = await read(team);
    expect(deliveryDays.parse(answer)).toEqual(answer);
    expect(answer).toMatchObject({ from: "2026-10-22", to: "2026-11-20", timezone: "Europe/Istanbul" });
    expect(answer.days).toEqual([
      {
        ...nothing,
        ...{ day: "2026-11-16", currency: "TRY", sent: { ...nothing.sent, data_manager: 4 } },
        ...{ confirmed: 1, rejected: 1, duplicate: 1, unknown: 1, sentCents: 1_000, confirmedCents: 400, rejectedCents: 200 },
      },
      { ...nothing, day: "2026-11-17", currency: "TRY", sent: { ...nothing.sent, data_manager: 1 }, waiting: 1, sentCents: 5_000 },
    ]);
    expect((await read(team, "2026-11-17", "2026-11-17")).days).toHaveLength(1);
    expect((await read(team, "2026-11-18", "2026-11-19")).days).toEqual([]);
  });

  // Guarantee: the list behind a figure has as many rows as the figure says.
  // Mutations that break it: compare with the moment of the verdict; take the day in UTC; leave the last day out.
  test("the list by verdict and day of sending has the rows that the report counts", async () => {
    const listed = async (filter: Record<string, unknown>, site = team) =>
      (await listRows(db.sql, site, { kind: "CONVERSION", ...filter })).rows.map(({ verdict, valueCents }) => [verdict, valueCents]);
    const on = (day: string, verdict: string) => listed({ verdict, sentFrom: day, sentTo: day });
    expect(await on("2026-11-16", "REJECTED")).toEqual([["REJECTED", 200]]);
    expect(await on("2026-11-16", "CONFIRMED")).toEqual([["CONFIRMED", 100]]);
    expect(await on("2026-11-17", "REJECTED")).toEqual([]);
    expect(await listed({ sentFrom: "2026-11-17" })).toEqual([[null, 5_000]]);
    expect(await listed({ sentTo: "2026-11-16" })).toHaveLength(4);
    expect(await listed({ verdict: "UNKNOWN" })).toEqual([["UNKNOWN", 400]]);
    expect(await listed({ verdict: "REJECTED", status: "FAILED" })).toEqual([]);
    expect(await listed({ verdict: "REJECTED" }, other)).toEqual([]);
  });

  test("a script's conversions have no verdict, and corrections stand beside conversions", async () => {
    const site = await createQueueTeam(db.sql, "by-script", team.owner);
    const { id, saleId } = await sealLead(db.sql, site, { amountCents: 700 });
    await claimForScript(db.sql, site, [id], minutesLater(1));
    await service(db.sql, "ack_offline_conversions", { p_site_id: site.siteUuid, p_ids: [id] }, minutesLater(2));
    await change(db.sql, { team: site }, "correct_sale", { id: saleId, amountCents: 900 }, { at: minutesLater(3) });
    const [restate] = await db.sql`select id from public.offline_conversion_queue where sale_id = ${saleId} and kind = 'RESTATE'`;
    await callAs(
      db.sql,
      site.operator,
      (tx) => tx`select public.complete_adjustment_by_hand(${site.siteId}, ${tx.json({ id: restate?.id, valueCents: 900 })})`,
      minutesLater(4),
    );
    expect((await read(site)).days).toEqual([
      { ...nothing, day: "2026-11-16", currency: "TRY", sent: { ...nothing.sent, script: 1 }, noVerdict: 1, sentCents: 700, restated: 1 },
    ]);
  });

  test.each([
    ["a span that ends before it begins", "2026-11-10", "2026-11-09"],
    ["more than 92 days", "2026-08-01", "2026-11-01"],
  ])("%s is refused", async (_name, from, to) => {
    await expect(read(team, from, to)).rejects.toMatchObject({ code: "PT400" });
  });

  // Guarantee: nobody reads another customer's business off a report.
  test("a stranger is refused, and sees nothing of it in the own report", async () => {
    await expect(read(team, undefined, undefined, other.owner)).rejects.toMatchObject({ code: "PT404" });
    expect((await read(other)).days).toEqual([]);
  });

  // Guarantee: a report reads the days it shows, however many dispatches there are of other days and other sites.
  test("reads no more dispatches than it counts", async () => {
    const busy = await createApiTeam(db.sql, "busy-days", team.owner);
    await sealLead(db.sql, busy);
    await send(busy, minutesLater(1));
    await copyDelivered(db.sql, busy.siteUuid, 20_000);
    await db.sql`analyze private.queue_delivered`;
    const plans = await watchPlans(db.adminUrl);
    const { answer, steps } = await plans.stepsOf(() =>
      callAs<DeliveryDays>(
        plans.sql,
        busy.viewer,
        (tx) => tx`select public.delivery_days(${busy.siteId}, '2026-11-15'::date, '2026-11-15'::date)`,
      ),
    );
    await plans.sql.end();
    const counted = answer.days.reduce((sum, { sent }) => sum + sent.data_manager, 0);
    const readRows = steps.filter(({ table }) => table === "queue_delivered").reduce((sum, { rows }) => sum + rows, 0);
    expect(counted).toBeGreaterThan(1_000);
    expect(readRows).toBe(counted);
  });

  // Guarantee: the list of a day's rejections does not read through everything that Google took.
  // Mutation that breaks it: drop the index delivered_rows_not_confirmed.
  test("what Google rejected is found without reading what it took", async () => {
    const site = await createApiTeam(db.sql, "few-rejected", team.owner);
    for (let made = 0; made < 120; made++) await sealLead(db.sql, site);
    await verdicts(site, await send(site, minutesLater(1)), {
      rest: "CONFIRMED",
      verdicts: [{ index: 7, verdict: "REJECTED", reason: "CLICK_NOT_FOUND" }],
    });
    await db.sql`analyze private.queue_delivered, private.queue_open`;
    const plans = await watchPlans(db.adminUrl);
    const { answer, steps } = await plans.stepsOf(() => listRows(plans.sql, site, { verdict: "REJECTED" }));
    await plans.sql.end();
    expect(answer.rows).toHaveLength(1);
    const readRows = steps
      .filter(({ table, name }) => table === "queue_delivered" && name.includes("q.verdict ="))
      .reduce((sum, { rows }) => sum + rows, 0);
    expect(readRows).toBe(1);
  });
});
