import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ExportItem } from "#lib/oci/handout/items.ts";
import { type QueueRowStory, queueRowStory } from "#lib/oci/queue/row-story.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { actionOf, connectApi } from "#tests/fixtures/connections.ts";
import { change } from "#tests/fixtures/leads.ts";
import { type Claimed, claimForScript, claimForWorker, minutesLater, readRow, sealLead } from "#tests/fixtures/queue.ts";
import { service } from "#tests/fixtures/service.ts";
import { deliverySettings } from "#tests/fixtures/site.ts";
import { type OciApp, type OciSite, startOciApp } from "#tests/support/oci-app.ts";

let app: OciApp;
beforeAll(async () => {
  app = await startOciApp();
});
afterAll(() => app.stop());

const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000);
const rename = (site: OciSite, seal: string, more = {}) => deliverySettings(app.db.sql, site, { conversionNames: { seal, ...more } });
const recover = (minutes = 20, from = new Date()) =>
  service(app.db.sql, "recover_stuck_offline_conversion_jobs", {}, minutesLater(minutes, from));
const items = async (response: Response): Promise<ExportItem[]> => {
  const body = await response.json();
  return Array.isArray(body) ? body : body.items;
};
const namesOf = (given: ExportItem[]) => Object.fromEntries(given.map(({ id, conversionName }) => [id, conversionName]));
const storyOf = async (site: OciSite, id: string): Promise<QueueRowStory> =>
  queueRowStory.parse(await callAs(app.db.sql, site.viewer, (tx) => tx`select public.queue_row_story(${site.siteId}, ${id}, 5)`));
const dispatchesOf = (saleId: string) =>
  app.db.sql`select kind, conversion_name as name, conversion_time as time, value_cents::int as value, currency
    from public.provider_dispatches where sale_id = ${saleId} order by dispatched_at, id`;

describe("the name of a conversion", () => {
  // Guarantee: one sale is one conversion at Google. Under two names its one order id would be two.
  // Mutation that breaks it: conversion_name = p_name in hand_out (a trigger then refuses), or sites' name in sealItem.
  test("is the one of the first hand-out, whatever the settings say at the second", async () => {
    const site = await app.newSite();
    const { id, saleId } = await sealLead(app.db.sql, site, { at: hoursAgo(3) });
    await rename(site, "Sale A");
    const token = await app.session(site);
    expect(namesOf(await items(await app.exportRows(site, token)))).toEqual({ [`seal_${id}`]: "Sale A" });

    await rename(site, "Sale B");
    await recover();
    const later = await sealLead(app.db.sql, site, { at: hoursAgo(2) });
    const both = { [`seal_${id}`]: "Sale A", [`seal_${later.id}`]: "Sale B" };
    expect(namesOf(await items(await app.exportRows(site, token, false)))).toEqual(both);
    expect(namesOf(await items(await app.exportRows(site, token)))).toEqual(both);

    await app.ack(site, token, [`seal_${id}`]);
    await rename(site, "Sale C");
    expect(await dispatchesOf(saleId)).toMatchObject([{ name: "Sale A", value: 425_000, currency: "TRY", time: expect.any(Date) }]);
    expect((await storyOf(site, id)).payload).toMatchObject({ sent: true, conversionName: "Sale A" });
    expect((await storyOf(site, later.id)).payload).toMatchObject({ sent: false, conversionName: "Sale B" });
  });

  test("before anything was handed out is today's, on the screen as in the export", async () => {
    const site = await app.newSite();
    const { id } = await sealLead(app.db.sql, site, { at: hoursAgo(3) });
    await rename(site, "Before");
    expect((await storyOf(site, id)).payload).toMatchObject({ sent: false, conversionName: "Before" });
    await rename(site, "After");
    expect((await storyOf(site, id)).payload).toMatchObject({ sent: false, conversionName: "After" });
    expect(namesOf(await items(await app.exportRows(site, await app.session(site))))).toEqual({ [`seal_${id}`]: "After" });
  });

  // Guarantee: a correction finds the conversion it corrects. Mutation that breaks it: enqueue without the earlier row's name.
  test("stays with the corrections and the retraction of a sale", async () => {
    const site = await app.newSite({ syncMethod: "api" });
    await rename(site, "Sale A");
    await connectApi(app.db.sql, site, { actions: [{ conversionName: "Sale A", action: actionOf(1) }] });
    const { saleId } = await sealLead(app.db.sql, site, { amountCents: 100_00 });
    const deliver = async (minute: number) => {
      const { token, rows }: Claimed = await claimForWorker(app.db.sql, site, { at: minutesLater(minute) });
      const p_results = rows.map(({ id }) => ({ id, outcome: "COMPLETED" }));
      const args = { p_site_id: site.siteUuid, p_token: token, p_results, p_transport: "ads_api" };
      await service(app.db.sql, "settle_offline_conversion_jobs", args, minutesLater(minute));
      return rows.map(({ kind, ...row }) => [kind, "conversionName" in row ? row.conversionName : null]);
    };
    expect(await deliver(1)).toEqual([["CONVERSION", "Sale A"]]);
    await rename(site, "Sale B");
    await change(app.db.sql, { team: site }, "correct_sale", { id: saleId, amountCents: 90_00 }, { at: minutesLater(2) });
    expect(await deliver(3)).toEqual([["RESTATE", "Sale A"]]);
    await change(app.db.sql, { team: site }, "cancel_sale", { id: saleId }, { at: minutesLater(4) });
    expect(await deliver(5)).toEqual([["RETRACT", "Sale A"]]);
    expect((await dispatchesOf(saleId)).map(({ kind, name }) => [kind, name])).toEqual([
      ["CONVERSION", "Sale A"],
      ["RESTATE", "Sale A"],
      ["RETRACT", "Sale A"],
    ]);
  });

  test("of a signal stays, too", async () => {
    const site = await app.newSite({ settings: { signalsEnabled: true, conversionNames: { INTENT_CAPTURED: "First A" } } });
    await sealLead(app.db.sql, site, { at: hoursAgo(3) });
    const token = await app.session(site);
    const signalOf = (given: ExportItem[]) => given.find(({ id }) => id.startsWith("signal_"))?.conversionName;
    expect(signalOf(await items(await app.exportRows(site, token)))).toBe("First A");
    await rename(site, "Sale", { INTENT_CAPTURED: "First B" });
    await service(app.db.sql, "recover_marketing_signals", {}, minutesLater(20, new Date()));
    expect(signalOf(await items(await app.exportRows(site, token, false)))).toBe("First A");
    expect(signalOf(await items(await app.exportRows(site, token)))).toBe("First A");
  });

  // Guarantee: no function of ours, present or future, turns a row that left into another conversion.
  test("and all that makes the row one conversion is refused to whoever would change it", async () => {
    const site = await app.newSite();
    const { id } = await sealLead(app.db.sql, site);
    const edit = (assignment: string) => app.db.sql.unsafe(`update public.offline_conversion_queue set ${assignment} where id = '${id}'`);
    for (const assignment of ["currency = 'USD'", "conversion_time = now()", "order_id = 'om_other_one'", "kind = 'RESTATE'"])
      await expect(edit(assignment)).rejects.toMatchObject({ message: "RECORD_IS_PERMANENT" });
    await claimForScript(app.db.sql, site, [id], minutesLater(1));
    await expect(edit("conversion_name = 'Other'")).rejects.toMatchObject({ message: "RECORD_IS_PERMANENT" });
    await expect(edit("conversion_name = null")).rejects.toThrow("handed_out_rows_have_a_name");
  });
});

test("what a row was sent with on the screen is what left, also when the sale's click is gone", async () => {
  const site = await app.newSite();
  const { id, saleId } = await sealLead(app.db.sql, site, { at: hoursAgo(3) });
  const token = await app.session(site);
  const [item] = await items(await app.exportRows(site, token));
  await app.ack(site, token, [`seal_${id}`]);
  await app.db.sql`update public.sales set gclid = null where id = ${saleId}`; // what an erasure leaves behind
  const masked = `${item?.gclid.slice(0, 6)}…${item?.gclid.slice(-4)}`;
  expect((await storyOf(site, id)).payload).toMatchObject({ clickKind: "gclid", clickId: masked, clickForgotten: false });
  await app.db.sql`select private.forget_identifiers(${[saleId]})`;
  expect((await storyOf(site, id)).payload).toMatchObject({ sent: true, clickKind: null, clickId: null, clickForgotten: true });
  expect((await readRow(app.db.sql, id)).identifiers_hash).toMatch(/^[0-9a-f]{64}$/);
});
