import { createHash } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { actionOf, connectApi, defaultNames } from "#tests/fixtures/connections.ts";
import { change } from "#tests/fixtures/leads.ts";
import { claimForWorker, minutesLater, sealLead, settleClaim } from "#tests/fixtures/queue.ts";
import { createApiTeam } from "#tests/fixtures/queue-team.ts";
import { service } from "#tests/fixtures/service.ts";
import { createKey } from "#tests/fixtures/site.ts";
import { createPerson, type Person, type Team } from "#tests/fixtures/team.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

let db: TestDatabase;
let owner: Person;
let team: Team;
let teams = 0;
beforeAll(async () => {
  db = await createTestDatabase();
  owner = await createPerson(db.sql, "owner@sendable.test");
});
beforeEach(async () => {
  team = await createApiTeam(db.sql, `sendable-${++teams}`, owner);
});
afterAll(() => db.drop());

const seal = () => sealLead(db.sql, team, { amountCents: 100_00 });

// Guarantee: the sender needs nothing but the row, and says no more of the customer than the customer allowed.
// A dry run asks about the same. Mutation that breaks it: the present action, or another rule of consent, in conversion_job.
describe("a claimed row carries", () => {
  /** A claim, after a look at what a dry run of each row would have asked Google. */
  async function claim(minute: number) {
    const waiting =
      await db.sql`select id from public.offline_conversion_queue where site_id = ${team.siteUuid} and status in ('QUEUED', 'RETRY')`;
    const asked = await Promise.all(
      waiting.map(({ id }) => service(db.sql, "conversion_job", { p_site_id: team.siteUuid, p_id: id }, minutesLater(minute))),
    );
    const claimed = await claimForWorker(db.sql, team, { at: minutesLater(minute) });
    for (const row of claimed.rows) expect(asked.find(({ id }) => id === row.id)).toEqual({ ...row, isChosenAction: expect.any(Boolean) });
    return claimed;
  }

  const phone = "+905321234567";
  const hashed = createHash("sha256").update(phone).digest("hex");
  const lead = (visitor: string, category = "phone_call") => sealLead(db.sql, team, { step: { visitor, phone, action: category } });

  test("name, action, API, time zone, channel; and neither consent nor number of who was never asked", async () => {
    await lead("never-asked", "whatsapp");
    expect((await claim(1)).rows).toMatchObject([
      {
        kind: "CONVERSION",
        conversionName: defaultNames.seal,
        conversionAction: actionOf(1),
        via: "data_manager",
        timezone: "Europe/Istanbul",
        channel: "whatsapp",
        consent: null,
        customerHash: null,
        emailHash: null,
      },
    ]);
  });

  test("the action of its first hand-out", async () => {
    await lead("first-hand-out");
    await claim(1);
    await service(db.sql, "recover_stuck_offline_conversion_jobs", {}, minutesLater(20));
    await connectApi(db.sql, team, { actions: [{ conversionName: defaultNames.seal, action: actionOf(77) }] });
    expect((await claim(21)).rows).toMatchObject([{ conversionAction: actionOf(1), attemptCount: 2 }]);
  });

  test("consent and the hashed number of a visitor who agreed, also in what is kept of the hand-out", async () => {
    const choice = { visitor: "agreed", scopes: ["analytics", "marketing"], ageMs: 0 };
    await db.sql.begin(async (tx) => {
      await tx`select set_config('opsmantik.now', ${minutesLater(-30).toISOString()}, true)`;
      await tx`select public.record_consent(${team.siteUuid}, ${tx.json(choice)})`;
    });
    const { id } = await lead("agreed");
    expect((await claim(1)).rows).toMatchObject([{ channel: "phone", consent: "GRANTED", customerHash: hashed }]);
    const [kept] = await db.sql`select customer_hash from public.dispatch_identifiers where queue_id = ${id}`;
    expect(kept?.customer_hash).toBe(hashed);
  });

  test("the hash of the e-mail address of a customer who agreed at the till", async () => {
    await lead("buys-at-the-till");
    const { rows: desk } = await claim(0.1);
    expect(desk).toMatchObject([{ emailHash: null, consent: null }]);
    const { id } = await createKey(db.sql, { siteId: team.siteId, owner: owner }, ["sales"]);
    const sale = {
      externalRef: "till-1",
      occurredAt: minutesLater(0).toISOString(),
      amountCents: 50_00,
      gclid: "gclid-of-the-till",
      emailHash: hashed,
      marketingConsent: true,
    };
    await db.sql.begin(async (tx) => {
      await tx`select set_config('opsmantik.now', ${minutesLater(1).toISOString()}, true)`;
      const [draft] =
        await tx`select (public.record_external_sale(${id}, ${tx.json(sale)}, ${"0".repeat(64)}) ->> 'body')::jsonb ->> 'sale_id' as id`;
      await tx`select public.confirm_sale_and_enqueue(${id}, ${tx.json({ id: draft?.id })}, ${"0".repeat(64)})`;
    });
    expect((await claim(2)).rows).toMatchObject([{ gclid: "gclid-of-the-till", consent: "GRANTED", emailHash: hashed, channel: null }]);
  });

  test("an adjustment: the conversion's own time and name, and no value for a retraction", async () => {
    const { saleId } = await seal();
    const [first] = (await claim(1)).rows;
    await service(db.sql, "recover_stuck_offline_conversion_jobs", {}, minutesLater(20));
    await settleClaim(db.sql, team, await claim(21), { outcome: "COMPLETED", transport: "ads_api" }, { at: minutesLater(22) });
    await change(db.sql, { team }, "cancel_sale", { id: saleId }, { at: minutesLater(23) });
    const { conversionTime, orderId } = first ?? {};
    expect((await claim(24)).rows).toMatchObject([{ kind: "RETRACT", conversionTime, orderId, valueCents: 0, via: "ads_api" }]);
  });
});
