import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { whyMessage } from "#lib/oci/queue/why-message.ts";
import { deliveryLinks, whyNotCounted } from "#lib/oci/queue/why-not-counted.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { change, newLead } from "#tests/fixtures/leads.ts";
import { minutesLater, sealLead } from "#tests/fixtures/queue.ts";
import { createKey } from "#tests/fixtures/site.ts";
import { handOver, type Person } from "#tests/fixtures/team.ts";
import { openCircuit } from "#tests/support/circuit.ts";
import { sentCases } from "#tests/support/why/sent-cases.ts";
import { waitingCases } from "#tests/support/why/waiting-cases.ts";
import { api, cancel, day, db, openWhyScene, script, send, taken, why } from "#tests/support/why/why-scene.ts";

beforeAll(openWhyScene);
afterAll(() => db.drop());

const cases = { ...waitingCases, ...sentCases };

describe("why a sale is not counted", () => {
  test.each(Object.entries(cases))("%s", async (_name, { link, code, key, asks = 3, make }) => {
    const { team, saleId } = await make();
    const answer = await why(team, saleId, minutesLater(asks));
    expect(whyNotCounted.parse(answer)).toEqual(answer);
    expect(answer).toMatchObject({ saleId, link, code });
    expect(whyMessage(answer).key).toBe(key);
  });

  // Guarantee: what waits for an earlier sale's retraction says so and names it; "ready" would be a lie that lasts until somebody acts.
  test("an earlier sale of the lead that Google still counts", async () => {
    const sold = await taken({ status: "SUCCESS", rest: "CONFIRMED" });
    await cancel(sold.team, sold.saleId, 55);
    await send(sold.team, { outcome: "RETRY", code: "X", category: "AUTH", byHand: "NO_ADS_API_ACCESS" }, 60, { outcome: "definite" });
    const { body } = await change(db.sql, sold, "seal_call", { id: sold.callId, amountCents: 70_000 }, { at: minutesLater(65) });
    const answer = await why(sold.team, String(body.saleId), minutesLater(70));
    expect(answer).toMatchObject({ link: "HELD", facts: { heldBy: { saleId: sold.saleId } } });
    expect(whyMessage(answer)).toMatchObject({ key: "held", place: { to: "row", rowId: answer.facts.heldBy?.rowId } });
  });

  // Guarantee: "goes out within minutes" is not said of a site from which nothing goes out, and only who may restore it is sent there.
  // Mutation that breaks it: leave archived_at out of why_waiting.
  test("a conversion that waits on an archived site", async () => {
    const team = await handOver(db.sql, await api(), `owner@${randomUUID()}.test`);
    const { saleId } = await sealLead(db.sql, team);
    await callAs(db.sql, team.owner, (tx) => tx`select public.set_site_archived(${team.siteId}, true)`, minutesLater(1));
    const asked = async (person: Pick<Person, "id">) => whyNotCounted.parse(await why(team, saleId, minutesLater(3), person));
    expect(await asked(team.viewer)).toMatchObject({ link: "ARCHIVED", facts: { canRestore: false } });
    expect(whyMessage(await asked(team.viewer))).toMatchObject({ key: "archived", place: null });
    expect(whyMessage(await asked(team.owner)).place).toEqual({ to: "settings" });
    expect(await why(team, saleId, minutesLater(91 * day))).toMatchObject({ link: "CLICK_AGE" });
  });

  // Guarantee: a draft is sealed, not searched for in Google Ads.
  test("a draft from elsewhere that matches a click", async () => {
    const team = await script();
    const gclid = `gclid-${randomUUID()}`;
    await newLead(db.sql, team, { at: minutesLater(-5), gclid });
    const key = await createKey(db.sql, team, ["sales"]);
    const sale = {
      externalRef: randomUUID(),
      occurredAt: minutesLater(-1).toISOString(),
      amountCents: 5_000,
      gclid,
      marketingConsent: true,
    };
    const [row] = await db.sql.begin(async (tx) => {
      await tx`select set_config('opsmantik.now', ${minutesLater(0).toISOString()}, true)`;
      return tx`select (public.record_external_sale(${key.id}, ${tx.json(sale)}, ${"0".repeat(64)}) ->> 'body')::jsonb ->> 'sale_id' as id`;
    });
    expect(whyMessage(await why(team, String(row?.id), minutesLater(1)))).toMatchObject({ key: "draft", step: "seal" });
  });

  test("every link that the database knows was made above", () => {
    const made = new Set([...Object.values(cases).map(({ link }) => link), "HELD", "SEAL", "ARCHIVED"]);
    expect(deliveryLinks.filter((link) => !made.has(link))).toEqual([]);
  });

  test("when it goes on is said: the next probe, the next question to Google, the end of the wait", async () => {
    const sold = await taken();
    expect(Date.parse(String((await why(sold.team, sold.saleId, minutesLater(3))).at))).toBe(minutesLater(31).getTime());
    const team = await api();
    const { saleId } = await sealLead(db.sql, team);
    const probe = await openCircuit(db.sql, team, minutesLater(1));
    expect(Date.parse(String((await why(team, saleId, minutesLater(3))).at))).toBe(probe.getTime());
  });

  // Guarantee: nobody learns of another customer's sale, not even that it exists.
  test("another site's sale is not found, and strangers are refused", async () => {
    const team = await script();
    const { saleId } = await sealLead(db.sql, team);
    const stranger = await handOver(db.sql, await script(), `${randomUUID()}@stranger.test`);
    await expect(why(stranger, saleId, minutesLater(3), stranger.owner)).rejects.toMatchObject({ code: "PT404" });
    await expect(why(team, saleId, minutesLater(3), stranger.owner)).rejects.toMatchObject({ code: "PT404" });
    await expect(why(team, randomUUID(), minutesLater(3))).rejects.toMatchObject({ code: "PT404" });
  });
});
