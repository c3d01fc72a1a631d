import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { GET as recoverCron } from "#app/api/cron/providers/recover-processing/route.ts";
import { callersOfNumber, sha256Of } from "#tests/fixtures/callers.ts";
import { connectApi } from "#tests/fixtures/connections.ts";
import { newLead } from "#tests/fixtures/leads.ts";
import { claimForScript, claimForWorker, sealLead, settleClaim } from "#tests/fixtures/queue.ts";
import { createApiTeam } from "#tests/fixtures/queue-team.ts";
import { callAt } from "#tests/fixtures/service.ts";
import { createKey } from "#tests/fixtures/site.ts";
import { createPerson, type Person, type Team } from "#tests/fixtures/team.ts";
import { useAppEnv } from "#tests/support/app-env.ts";
import { send } from "#tests/support/requests.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

let db: TestDatabase;
let owner: Person;
let team: Team;
let env: Record<string, string>;
let teams = 0;
beforeAll(async () => {
  db = await createTestDatabase();
  env = useAppEnv({ database: db });
  owner = await createPerson(db.sql, "owner@number.test");
});
beforeEach(async () => {
  team = await createApiTeam(db.sql, `number-${++teams}`, owner);
});
afterAll(() => db.drop());

const phone = "+905321234567";
const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000);
const agree = (visitor: string) =>
  callAt(db.sql, daysAgo(1), (tx) => {
    const choice = tx.json({ visitor, scopes: ["analytics", "marketing"], ageMs: 0 });
    return tx`select public.record_consent(${team.siteUuid}, ${choice})`;
  });
const claimed = async () =>
  (await claimForWorker(db.sql, team)).rows.map((row) => (row as unknown as { customerHash: string | null }).customerHash);

/** A sale of a till, as the app hands it over, and sealed. */
async function tillSale(more: Record<string, unknown> = {}, at = new Date()): Promise<string> {
  const { id: key } = await createKey(db.sql, team, ["sales"], { at });
  const sale = {
    externalRef: randomUUID(),
    occurredAt: at.toISOString(),
    amountCents: 50_00,
    customerHash: sha256Of(phone),
    callers: callersOfNumber(phone),
    ...more,
  };
  const hash = "0".repeat(64);
  return db.sql.begin(async (tx) => {
    await tx`select set_config('opsmantik.now', ${at.toISOString()}, true)`;
    const [draft] = await tx`select (public.record_external_sale(${key}, ${tx.json(sale)}, ${hash}) ->> 'body')::jsonb ->> 'sale_id' as id`;
    await tx`select public.confirm_sale_and_enqueue(${key}, ${tx.json({ id: draft?.id })}, ${hash})`;
    return String(draft?.id);
  });
}
const hashesOf = async (saleId: string) => {
  const [row] = await db.sql`select customer_hash as phone, email_hash as email from public.sales where id = ${saleId}`;
  return { ...row };
};

describe.each(["data_manager", "ads_api"] as const)("over %s Google gets", (transport) => {
  beforeEach(() => connectApi(db.sql, team, { transport }));

  // Guarantee: Google matches by the plain SHA-256 of the number, although no call holds it. Mutation: send calls.caller_hash.
  test("the SHA-256 of the caller's number where the visitor agreed, and nothing where nobody was asked", async () => {
    await agree("agreed");
    await sealLead(db.sql, team, { at: new Date(), step: { visitor: "agreed", phone: "0532 123 45 67" } });
    expect(await claimed()).toEqual([sha256Of(phone)]);
    await sealLead(db.sql, team, { at: new Date(), step: { visitor: "not-asked", phone } });
    expect(await claimed()).toEqual([null]);
  });

  test("the number also when it is reported after the seal", async () => {
    await agree("late");
    const { callId } = await sealLead(db.sql, team, { at: new Date(), step: { visitor: "late" } });
    const [call] = await db.sql`select intent_stamp as stamp from public.calls where id = ${callId}`;
    const [caller] = callersOfNumber(phone);
    await db.sql`select public.add_caller_number(${team.siteUuid}, ${call?.stamp}, ${phone}, ${db.sql.json({ ...caller })})`;
    expect(await claimed()).toEqual([sha256Of(phone)]);
  });

  test("the hash that a till sent of a customer who agreed", async () => {
    await tillSale({ gclid: "click-of-the-till", marketingConsent: true });
    expect(await claimed()).toEqual([sha256Of(phone)]);
  });

  test("nothing once the visitor has withdrawn", async () => {
    await agree("withdraws");
    await sealLead(db.sql, team, { at: new Date(), step: { visitor: "withdraws", phone } });
    await db.sql`select public.record_consent(${team.siteUuid}, ${db.sql.json({ visitor: "withdraws", scopes: [], ageMs: 0 })})`;
    expect(await claimed()).toEqual([]);
  });
});

test("a script gets no number of anybody", async () => {
  await agree("by-script");
  const script = await createApiTeam(db.sql, `script-${++teams}`, owner);
  await db.sql`update public.sites set oci_sync_method = 'script' where id = ${script.siteUuid}`;
  const { id } = await sealLead(db.sql, script, { at: new Date(), step: { phone } });
  const { rows } = await claimForScript(db.sql, script, [id]);
  expect(JSON.stringify(rows)).not.toContain(sha256Of(phone));
});

describe("what is kept for Google of a customer", () => {
  const purge = async () => {
    const answer = await send(recoverCron, { method: "GET", headers: { authorization: `Bearer ${env.CRON_SECRET}` } });
    return (await answer.json()).purgedHashes as number;
  };
  const own = { gclid: "own", marketingConsent: true, emailHash: sha256Of("ayse@example.com") };

  test.each([
    ["nobody agreed", { gclid: "own" }],
    ["the customer refused", { gclid: "own", marketingConsent: false }],
    ["no click and no call", {}],
  ])("is not kept at all where the sale is never sent: %s", async (_name, more) => {
    expect(await hashesOf(await tillSale(more))).toEqual({ phone: null, email: null });
  });

  test("is not kept where the call's own sale is never sent either", async () => {
    const call = await newLead(db.sql, team, { at: daysAgo(0.1), phone, gclid: null });
    const sale = await tillSale();
    const [row] = await db.sql`select call_id, delivery_block from public.sales where id = ${sale}`;
    expect({ ...row }).toEqual({ call_id: call, delivery_block: "NO_CLICK_ID" });
    expect(await hashesOf(sale)).toEqual({ phone: null, email: null });
  });

  // Guarantee: the bare hash of a number lives as long as something can be sent, and no longer. Mutation: purge by the time of the seal.
  test.each([
    ["one that was not sent, 89 days later", 89, false, true],
    ["one that was not sent, 90 days later", 90.01, false, false],
    ["one that was sent, 53 days later: it may be corrected", 53, true, true],
    ["one that was sent, 54 days later", 54.01, true, false],
  ])("is deleted by the cron: %s", async (_name, days, isSent, isKept) => {
    const at = daysAgo(days);
    const sale = await tillSale(own, at);
    if (isSent) {
      const claim = await claimForWorker(db.sql, team, { at: new Date(at.getTime() + 86_400_000) });
      await settleClaim(db.sql, team, claim, { outcome: "COMPLETED", verdict: "CONFIRMED" }, { at: new Date(at.getTime() + 86_400_000) });
    }
    await purge();
    const kept = { phone: sha256Of(phone), email: own.emailHash };
    expect(await hashesOf(sale)).toEqual(isKept ? kept : { phone: null, email: null });
  });
});
