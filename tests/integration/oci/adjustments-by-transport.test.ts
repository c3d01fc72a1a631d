import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { leadDetail } from "#lib/leads/desk-shapes.ts";
import { type AdjustmentPath, adjustmentPath } from "#lib/oci/queue/adjustment-path.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { connectApi } from "#tests/fixtures/connections.ts";
import { change } from "#tests/fixtures/leads.ts";
import {
  claimForScript,
  claimForWorker,
  listGroups,
  minutesLater,
  readRow,
  type Sealed,
  sealLead,
  settleClaim,
} from "#tests/fixtures/queue.ts";
import { createApiTeam, createQueueTeam } from "#tests/fixtures/queue-team.ts";
import { service } from "#tests/fixtures/service.ts";
import { switchDelivery } from "#tests/fixtures/site.ts";
import { createPerson, type Person, type Team } from "#tests/fixtures/team.ts";
import { readStats } from "#tests/support/control.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";
import { recordVerdict, type Verdict } from "#tests/support/verdicts.ts";

let db: TestDatabase;
let owner: Person;
let teams = 0;
beforeAll(async () => {
  db = await createTestDatabase();
  owner = await createPerson(db.sql, "owner@transports.test");
});
afterAll(() => db.drop());

const name = () => `transport-${++teams}`;
type Kind = "RESTATE" | "RETRACT";
type Site = "script" | "data_manager" | "ads_api";
type Sold = Sealed & { team: Team };

/** Sent through an API: handed out in minute 1, answered in minute 2. */
async function sentOver(transport: "data_manager" | "ads_api", verdict?: Verdict): Promise<Sold> {
  const team = await createApiTeam(db.sql, name(), owner, { transport });
  const sold = await sealLead(db.sql, team, { amountCents: 100_00 });
  const isAds = transport === "ads_api";
  const claimed = await claimForWorker(db.sql, team, { at: minutesLater(1) });
  await settleClaim(
    db.sql,
    team,
    claimed,
    { outcome: "COMPLETED", requestId: sold.saleId, recordIndex: 0, ...(isAds && { verdict: "CONFIRMED" }) },
    { at: minutesLater(2) },
  );
  if (verdict) await recordVerdict(db.sql, team, sold.saleId, verdict, minutesLater(40));
  return { ...sold, team };
}
async function sentByScript(): Promise<Sold> {
  const team = await createQueueTeam(db.sql, name(), owner);
  const sold = await sealLead(db.sql, team, { amountCents: 100_00 });
  await claimForScript(db.sql, team, [sold.id], minutesLater(1));
  await service(db.sql, "ack_offline_conversions", { p_site_id: team.siteUuid, p_ids: [sold.id] }, minutesLater(2));
  return { ...sold, team };
}
const adjustmentOf = async (saleId: string, kind: Kind) => {
  const [row] = await db.sql`select id, status, provider_error_code as code from public.offline_conversion_queue
    where sale_id = ${saleId} and kind = ${kind} order by created_at desc, id desc limit 1`;
  return row && { id: String(row.id), status: String(row.status), code: row.code };
};
const done = ({ team }: Sold, id: string, valueCents: number, at: Date) =>
  callAs(db.sql, team.operator, (tx) => tx`select public.complete_adjustment_by_hand(${team.siteId}, ${tx.json({ id, valueCents })})`, at);
async function sentAndCorrectedByHand(): Promise<Sold> {
  const sold = await sentByScript();
  await change(db.sql, { team: sold.team }, "correct_sale", { id: sold.saleId, amountCents: 90_00 }, { at: minutesLater(3) });
  await done(sold, (await adjustmentOf(sold.saleId, "RESTATE"))?.id ?? "", 90_00, minutesLater(4));
  return sold;
}

const bases = {
  script: sentByScript,
  by_hand: sentAndCorrectedByHand,
  "data_manager, no verdict": () => sentOver("data_manager"),
  "data_manager, CONFIRMED": () => sentOver("data_manager", "CONFIRMED"),
  "data_manager, DUPLICATE": () => sentOver("data_manager", "DUPLICATE"),
  "data_manager, REJECTED": () => sentOver("data_manager", "REJECTED"),
  "data_manager, UNKNOWN": () => sentOver("data_manager", "UNKNOWN"),
  ads_api: () => sentOver("ads_api"),
};
type Base = keyof typeof bases;

/** What becomes of an adjustment: on a site whose script sends, then on one of either API; a correction, then a cancellation. */
const table: Record<Base, Record<Site, [restate: string, retract: string]>> = {
  script: both("ads_api, a day later", "ads_api, a day later"),
  by_hand: both("ads_api, a day later", "ads_api, a day later"),
  "data_manager, no verdict": {
    script: ["by hand", "by hand"],
    data_manager: ["data_manager, after the verdict", "ads_api, after the verdict"],
    ads_api: ["ads_api, after the verdict", "ads_api, after the verdict"],
  },
  "data_manager, CONFIRMED": {
    script: ["by hand", "by hand"],
    data_manager: ["data_manager", "ads_api"],
    ads_api: ["ads_api", "ads_api"],
  },
  "data_manager, DUPLICATE": {
    script: ["by hand", "by hand"],
    data_manager: ["data_manager", "ads_api"],
    ads_api: ["ads_api", "ads_api"],
  },
  "data_manager, REJECTED": {
    script: ["nothing to adjust", "nothing to adjust"],
    data_manager: ["nothing to adjust", "nothing to adjust"],
    ads_api: ["nothing to adjust", "nothing to adjust"],
  },
  "data_manager, UNKNOWN": both("ads_api", "ads_api"),
  ads_api: both("ads_api", "ads_api"),
};
function both(restate: string, retract: string): Record<Site, [string, string]> {
  return { script: ["by hand", "by hand"], data_manager: [restate, retract], ads_api: [restate, retract] };
}

async function switchSite(sold: Sold, to: Site, at: Date): Promise<void> {
  if (to !== "script") await connectApi(db.sql, sold.team, { transport: to, at });
  await switchDelivery(db.sql, sold.team, to === "script" ? "script" : "api");
}

/** Which API the worker is told to use for the row, or null when it gets none. What is listed is what is claimed, at every look. */
async function claimed(sold: Sold, rowId: string, at: Date): Promise<string | null> {
  const [group] = await listGroups(db.sql, at, [sold.team.siteUuid]);
  const { rows } = await claimForWorker(db.sql, sold.team, { at });
  expect(group?.queued_count ?? 0).toBe(rows.length);
  const row = rows.find(({ id }) => id === rowId);
  if (row?.kind === "RETRACT") expect(row).toMatchObject({ valueCents: 0, via: "ads_api" });
  return row?.via ?? null;
}

const day = 24 * 60;
async function outcome(sold: Sold, kind: Kind): Promise<string> {
  const row = await adjustmentOf(sold.saleId, kind);
  if (!row || row.status === "FAILED") return "nothing to adjust";
  const { waitingByHand } = await readStats(db.sql, sold.team, minutesLater(51));
  const atOnce = await claimed(sold, row.id, minutesLater(51));
  if (atOnce) return atOnce;
  if (waitingByHand === 1) {
    await done(sold, row.id, kind === "RETRACT" ? 0 : 80_00, minutesLater(52));
    return (await readRow(db.sql, row.id)).status === "COMPLETED" ? "by hand" : "stuck";
  }
  // The dispatch was answered for in minute 2, or by hand in minute 4.
  expect(await claimed(sold, row.id, minutesLater(day + 1))).toBeNull();
  const nextDay = await claimed(sold, row.id, minutesLater(day + 4));
  if (nextDay) return `${nextDay}, a day later`;
  await recordVerdict(db.sql, sold.team, sold.saleId, "CONFIRMED", minutesLater(day + 5));
  const afterVerdict = await claimed(sold, row.id, minutesLater(day + 6));
  return afterVerdict ? `${afterVerdict}, after the verdict` : "stuck";
}

/** What the desk's dialog says would happen, before anything does. */
async function told(sold: Sold, site: Site): Promise<AdjustmentPath> {
  const at = minutesLater(49);
  const lead = await callAs(db.sql, sold.team.operator, (tx) => tx`select public.desk_lead(${sold.team.siteId}, ${sold.callId})`, at);
  const { sale, delivery } = leadDetail.parse(lead);
  if (!sale) throw new Error("The lead has no sale.");
  return adjustmentPath(sale, {
    syncMethod: site === "script" ? "script" : "api",
    wasRejected: delivery?.verdict === "REJECTED",
    isInFlight: delivery?.status === "PROCESSING",
    now: at,
  });
}
const pathOf = (happens: string): AdjustmentPath => {
  if (happens === "by hand") return "byHand";
  if (happens === "nothing to adjust") return "rejected";
  return happens.endsWith("a day later") ? "tomorrow" : happens.endsWith("after the verdict") ? "afterVerdict" : "automatic";
};

// Guarantee: what the desk's dialog says of a correction is what happens.
// Mutation that breaks it: let adjustmentPath look at the site's way of sending only.
//
// Guarantee: whatever a conversion was sent by and the site sends by now, a correction of it reaches Google in a way that can neither make a
// second conversion nor one of value 0, or a person is asked to make it.
// Mutations that break it: any cell of adjustment_bases; take REJECTED as delivered in standing_dispatches; drop waits_for from sendable_queue.
describe.each(Object.keys(table) as Base[])("sent by %s", (base) => {
  describe.each(["script", "data_manager", "ads_api"] as const)("on a site that sends by %s now", (site) => {
    const [restate, retract] = table[base][site];
    test(`a correction: ${restate}`, async () => {
      const sold = await bases[base]();
      await switchSite(sold, site, minutesLater(45));
      expect(await told(sold, site)).toBe(pathOf(restate));
      await change(db.sql, { team: sold.team }, "correct_sale", { id: sold.saleId, amountCents: 80_00 }, { at: minutesLater(50) });
      expect(await outcome(sold, "RESTATE")).toBe(restate);
    });
    test(`a cancellation: ${retract}`, async () => {
      const sold = await bases[base]();
      await switchSite(sold, site, minutesLater(45));
      expect(await told(sold, site)).toBe(pathOf(retract));
      await change(db.sql, { team: sold.team }, "cancel_sale", { id: sold.saleId }, { at: minutesLater(50) });
      expect(await outcome(sold, "RETRACT")).toBe(retract);
    });
  });
});
