import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { verifyProofs } from "#lib/contracts/verify-proofs.ts";
import { drainEvents } from "#lib/ingest/drain.ts";
import { erasePerson, previewErasure } from "#lib/privacy/erase.ts";
import { namedPerson } from "#lib/privacy/person.ts";
import { callerHashes, callerRing } from "#lib/vault/caller-hash.ts";
import { service } from "#tests/fixtures/service.ts";
import { createPerson, join } from "#tests/fixtures/team.ts";
import { figuresOf, type IngestApp, pageView, phoneCall, startIngestApp } from "#tests/support/ingest-app.ts";
import { callOf, handedOut, saleOf, seal, sendingSite } from "#tests/support/lead-journey.ts";
import { acknowledge, captureMore, cellsWith, claimRow, leaveTraces, ownersDoor, waysToAsk } from "#tests/support/person.ts";
import { whileOpen } from "#tests/support/while-open.ts";

let app: IngestApp;
beforeAll(async () => {
  app = await startIngestApp({ worker: "asleep" });
});
afterAll(() => app.stop());

const both = ["analytics", "marketing"];
const rowsOf = (kinds: { kind: string; rows: number }[]) =>
  Object.fromEntries(kinds.filter(({ rows }) => rows > 0).map(({ kind, rows }) => [kind, rows]));

describe("erasing a person", () => {
  // Guarantee: whichever way somebody is asked for, nothing in the database tells who they were. Mutation: leave any statement of erase_found out.
  test.each([0, 1, 2, 3])("leaves no trace in any cell of any table (way %i of asking)", async (way) => {
    const site = await sendingSite(app);
    const [person, other] = [await leaveTraces(app, site), await leaveTraces(app, site)];
    await claimRow(app, site, person);
    await acknowledge(app, site, person);
    await captureMore(app, site, person);
    const asked = waysToAsk(person)[way] ?? expect.fail("no such way");
    const before = await cellsWith(app, person.traces);
    expect(before).toEqual(expect.arrayContaining(["public.calls.phone", "public.sales.note", "private.proof_notes.note"]));
    const others = await cellsWith(app, other.traces);

    const receipt = await erasePerson(ownersDoor(app, site), asked);
    expect(await cellsWith(app, person.traces)).toEqual([]);
    expect(await cellsWith(app, other.traces)).toEqual(others); // nobody else lost anything
    expect(receipt.counts).toMatchObject({ leads: 1, sales: 2, visits: 2, choices: 1, captured: 2, identifiers: 1, pageViews: 1 });

    // And nothing comes back from what a worker still had to store.
    await drainEvents();
    expect(await cellsWith(app, person.traces)).toEqual([]);
  });

  // Guarantee: money and proofs stay provable. Mutation: delete the sale.
  test("keeps ids, amounts, bills and proofs, which still verify", async () => {
    const site = await sendingSite(app);
    const person = await leaveTraces(app, site);
    await claimRow(app, site, person);
    await acknowledge(app, site, person);
    await captureMore(app, site, person);
    const billed = (await figuresOf(app.db, site)).billed;
    const kept = () => app.db.sql`
      select (select jsonb_agg(jsonb_build_array(s.id, s.amount_cents, s.status, s.order_id) order by s.id) from public.sales s where s.site_id = ${site.siteUuid}) as sales,
        (select jsonb_agg(to_jsonb(r) order by r.id) from public.revenue_snapshots r join public.sales s on s.id = r.sale_id where s.site_id = ${site.siteUuid}) as ledger,
        (select jsonb_agg(to_jsonb(d) order by d.id) from public.provider_dispatches d where d.site_id = ${site.siteUuid}) as dispatches,
        (select jsonb_agg(to_jsonb(i) order by i.idempotency_key) from public.ingest_idempotency i where i.site_id = ${site.siteUuid}) as bills`;
    const [before] = await kept();
    await service(app.db.sql, "seal_proof_blocks", {});
    await erasePerson(ownersDoor(app, site), { kind: "phone", value: person.phone });
    expect((await kept())[0]).toEqual(before);
    expect((await figuresOf(app.db, site)).billed).toBe(billed);
    const { fault } = await verifyProofs(app.db.sql);
    expect(fault).toBeNull();
    const [usage] = await app.db.sql`select sum(event_count)::int as used from public.site_usage_monthly where site_id = ${site.siteUuid}`;
    expect(usage?.used).toBe(billed); // what was never stored is still counted
  });

  test("a preview names what will go, with dates and without identifiers, and changes nothing", async () => {
    const site = await sendingSite(app);
    const person = await leaveTraces(app, site);
    await captureMore(app, site, person);
    const before = await cellsWith(app, person.traces);
    const preview = await previewErasure(ownersDoor(app, site), { kind: "phone", value: `0${person.phone.slice(3)}` });
    expect(rowsOf(preview.kinds)).toMatchObject({ leads: 1, sales: 2, visits: 2, notes: 4, captured: 2, pageViews: 1 });
    expect(preview.kinds.find(({ kind }) => kind === "leads")?.firstAt).toMatch(/^20/);
    for (const trace of person.traces) expect(JSON.stringify(preview)).not.toContain(trace);
    expect(await cellsWith(app, person.traces)).toEqual(before);
  });

  // Guarantee: the receipt proves an erasure to whoever has its salt, and tells nobody else anything.
  test("the receipt is proven by its salt, permanent and without personal data", async () => {
    const site = await sendingSite(app);
    const person = await leaveTraces(app, site);
    const receipt = await erasePerson(ownersDoor(app, site), { kind: "phone", value: person.phone });
    expect(receipt.identifierHash).toBe(createHash("sha256").update(`${receipt.salt}:${person.phone}`).digest("hex"));
    expect(await cellsWith(app, [receipt.salt])).toEqual([]);
    const [proof] = await app.db
      .sql`select contract, to_state, actor_id, facts from public.transition_proofs where id = ${receipt.proofId}`;
    expect(proof).toMatchObject({ contract: "privacy", to_state: "erased", actor_id: app.owner.id });
    expect(proof?.facts).toMatchObject({ identifierHash: receipt.identifierHash, counts: receipt.counts });
    await expect(app.db.sql`update public.erasure_receipts set counts = '{}' where id = ${receipt.id}`).rejects.toThrow(
      "RECORD_IS_PERMANENT",
    );
    await expect(app.db.sql`delete from public.erasure_receipts where id = ${receipt.id}`).rejects.toThrow("RECORD_IS_PERMANENT");
  });

  test("twice erases once: the second receipt counts nothing", async () => {
    const site = await sendingSite(app);
    const person = await leaveTraces(app, site);
    for (const asked of waysToAsk(person)) await erasePerson(ownersDoor(app, site), asked);
    const again = await erasePerson(ownersDoor(app, site), { kind: "phone", value: person.phone });
    expect(Object.values(again.counts).every((rows) => rows === 0)).toBe(true);
  });

  test("a visitor with more events than a step deletes goes in several steps, under one receipt", async () => {
    const site = await sendingSite(app);
    const person = await leaveTraces(app, site);
    await app.db.sql`insert into private.events (id, site_id, session_id, received_at, happened_at, category, action)
      select gen_random_uuid(), e.site_id, e.session_id, e.received_at, e.happened_at, 'interaction', 'view'
      from private.events e cross join generate_series(1, 6000) where e.site_id = ${site.siteUuid} and e.category = 'conversion'`;
    const door = ownersDoor(app, site);
    const first = await door.erase({ kind: "visitor", value: person.visitor, pageViews: 0 }, null);
    expect([first.isDone, first.receipt]).toEqual([false, undefined]);
    const second = await door.erase({ kind: "visitor", value: person.visitor, pageViews: 0 }, first.receiptId);
    expect([second.isDone, second.receiptId, second.receipt?.counts.events]).toEqual([true, first.receiptId, 6002]);
  });

  // Guarantee: erasing one caller of an office erases nobody else of it. Mutation: let is_switchboard be false.
  test("a number that more than 20 calls share leads to others only when it is what was asked for", async () => {
    const site = await sendingSite(app);
    const phone_number = "+905559998877";
    const report = (index: number) => app.call(site, { event_id: `office-${index}`, fingerprint: `colleague-${index}`, phone_number });
    for (let index = 0; index < 22; index++) await report(index);
    await drainEvents();
    await report(22); // captured and not stored
    const { counts } = await erasePerson(ownersDoor(app, site), { kind: "visitor", value: "colleague-0" });
    expect(counts).toMatchObject({ leads: 1, visits: 1, captured: 0 });
    const rest = await erasePerson(ownersDoor(app, site), { kind: "phone", value: phone_number });
    expect(rest.counts).toMatchObject({ leads: 21, captured: 1 });
    expect(await cellsWith(app, [phone_number, "colleague-"])).toEqual([]);
  });

  test("another site, another role and a value that is none are refused, and reach nobody", async () => {
    const [site, other] = [await sendingSite(app), await sendingSite(app)];
    const person = await leaveTraces(app, site);
    const before = await cellsWith(app, person.traces);
    for (const asked of waysToAsk(person)) {
      const { counts } = await erasePerson(ownersDoor(app, other), asked);
      expect(Object.values(counts).every((rows) => rows === 0)).toBe(true);
    }
    const operator = await createPerson(app.db.sql, "operator@ingest.test");
    await join(app.db.sql, site, operator, "operator");
    await expect(erasePerson(ownersDoor(app, site, operator), { kind: "phone", value: person.phone })).rejects.toThrow("FORBIDDEN");
    await expect(erasePerson(ownersDoor(app, site), { kind: "phone", value: "nobody" })).rejects.toThrow("VALIDATION_FAILED");
    await expect(erasePerson(ownersDoor(app, site), { kind: "email", value: "nobody" })).rejects.toThrow("VALIDATION_FAILED");
    expect(await cellsWith(app, person.traces)).toEqual(expect.arrayContaining(before.filter((cell) => !cell.includes("erased"))));
  });
});

// Guarantee: whoever opens a link that somebody passed on can be forgotten without forgetting the one who passed it on.
// Mutation: follow every click of the person to every sale.
test("erasing a visitor who came with a passed-on click leaves the other's lead, sale and events alone", async () => {
  const site = await sendingSite(app);
  const person = await leaveTraces(app, site);
  const stranger = "visitor-who-opened-the-link";
  const u = `${site.origin}/?gclid=${person.gclid}`;
  await app.sync(site, pageView(site, { consent_scopes: ["analytics", "marketing"], u, meta: { fp: stranger, gclid: person.gclid } }));
  await drainEvents();
  await captureMore(app, site, person);
  const before = await cellsWith(app, person.traces);
  await erasePerson(ownersDoor(app, site), { kind: "visitor", value: stranger });
  expect(await cellsWith(app, [stranger])).toEqual([]);
  expect(await cellsWith(app, person.traces)).toEqual(before);
  expect((await saleOf(app, person.saleId)).rows).toEqual([["QUEUED", null]]);
});

describe("an erased person", () => {
  // Guarantee: nobody is taken to have agreed after they were erased. Mutation: leave erased_at out of visitor_consents.
  test("who comes again is stored without consent, whatever the event or the site's default says", async () => {
    const site = await sendingSite(app);
    const person = await leaveTraces(app, site);
    await erasePerson(ownersDoor(app, site), { kind: "visitor", value: person.visitor });
    const meta = { fp: person.visitor, gclid: "gclid-of-another-day", intent_stamp: "again" };
    await app.sync(site, phoneCall(site, { consent_scopes: both, meta }));
    await app.sync(site, pageView(site, { meta: { fp: person.visitor, gclid: "gclid-of-another-day" } }));
    await drainEvents();
    expect(await callOf(app, site, "again")).toMatchObject({ marketing_consent: false, gclid: null });
    const [call] = await app.db.sql`select id from public.calls where site_id = ${site.siteUuid} and intent_stamp = 'again'`;
    const { body } = await seal(app, site, String(call?.id));
    expect(await saleOf(app, String(body.saleId))).toMatchObject({ delivery_block: "NO_CONSENT", rows: null });
  });

  // Guarantee: an offline browser or a slow telephone system brings nothing back. Mutation: leave is_forgotten out of store_events.
  test("whose older events and reports arrive later: they are billed and not stored", async () => {
    const site = await sendingSite(app);
    const person = await leaveTraces(app, site);
    const { intent_stamp: stamp } = await callOf(app, site);
    await erasePerson(ownersDoor(app, site), { kind: "phone", value: person.phone });
    const before = await figuresOf(app.db, site);
    await app.sync(site, pageView(site, { t: 3_600_000, consent_scopes: both, meta: { fp: person.visitor, gclid: person.gclid } }));
    await app.call(site, { intent_stamp: stamp, phone_number: person.phone });
    await drainEvents();
    const after = await figuresOf(app.db, site);
    expect([after.billed - before.billed, after.stored - before.stored, after.calls]).toEqual([1, 0, 1]);
    expect(await cellsWith(app, person.traces)).toEqual([]);
  });

  // Mutation: leave the click's tombstone out of refused_since.
  test("whose till sends an older sale with the erased click: it is recorded without the click", async () => {
    const site = await sendingSite(app);
    const person = await leaveTraces(app, site);
    await erasePerson(ownersDoor(app, site), { kind: "click", value: person.gclid });
    const occurredAt = new Date(Date.now() - 3_600_000).toISOString();
    const line = {
      line: 2,
      externalRef: "late",
      occurredAt,
      amountCents: 700,
      currency: "TRY",
      gclid: person.gclid,
      marketingConsent: true,
    };
    await app.db.sql.begin(async (tx) => {
      await tx`select set_config('request.jwt.claims', ${JSON.stringify({ sub: app.owner.id, amr: [{ method: "password", timestamp: Math.floor(Date.now() / 1000) }] })}, true)`;
      await tx`select public.import_sales(${site.siteId}, ${tx.json([line])}, true)`;
    });
    const [sale] = await app.db
      .sql`select gclid, delivery_block from public.sales where site_id = ${site.siteUuid} and external_ref = 'late'`;
    expect(sale).toEqual({ gclid: null, delivery_block: "NO_CONSENT" });
  });

  test("whose sale the till sends again: it gets the same sale, and nothing is stored again", async () => {
    const site = await sendingSite(app);
    const person = await leaveTraces(app, site);
    const [before] = await app.db.sql`select external_ref, occurred_at from public.sales where id = ${person.tillSaleId}`;
    await erasePerson(ownersDoor(app, site), { kind: "email", value: person.email });
    const again = { line: 2, externalRef: before?.external_ref, occurredAt: before?.occurred_at, amountCents: 5_000, currency: "TRY" };
    await app.db.sql.begin(async (tx) => {
      await tx`select set_config('request.jwt.claims', ${JSON.stringify({ sub: app.owner.id, amr: [{ method: "password", timestamp: Math.floor(Date.now() / 1000) }] })}, true)`;
      await tx`select public.import_sales(${site.siteId}, ${tx.json([{ ...again, customerPhone: person.phone, note: person.email }] as never)}, false)`;
    });
    expect(await cellsWith(app, person.traces)).toEqual([]);
  });
});

describe("races", () => {
  // Guarantee: a conversion in flight follows the withdrawal's rule. Mutation: leave silence_calls out of erase_leads.
  test("with a claim in flight: a failure ends it, a late ack stands, and nothing is sent again", async () => {
    for (const outcome of ["fail", "ack"] as const) {
      const site = await sendingSite(app);
      const person = await leaveTraces(app, site);
      await claimRow(app, site, person);
      await erasePerson(ownersDoor(app, site), { kind: "phone", value: person.phone });
      const answer = { p_site_id: site.siteUuid, p_ids: [person.queueId] };
      if (outcome === "ack") await acknowledge(app, site, person);
      else await service(app.db.sql, "fail_offline_conversions", { ...answer, p_code: "X", p_category: "TRANSIENT", p_message: "no" });
      expect((await saleOf(app, person.saleId)).rows).toEqual([outcome === "ack" ? ["COMPLETED", null] : ["FAILED", "NO_CONSENT"]]);
      expect(await handedOut(app, site)).toEqual([]);
      expect(await cellsWith(app, person.traces)).toEqual([]);
    }
  });

  test("with a claim that commits while the erase waits for it: what it handed out is erased too", async () => {
    const site = await sendingSite(app);
    const person = await leaveTraces(app, site);
    await whileOpen(
      app.db.sql,
      (tx) => tx`select public.claim_offline_conversion_rows_for_script_export(${[person.queueId]}::uuid[], ${site.siteUuid})`,
      () => erasePerson(ownersDoor(app, site), { kind: "phone", value: person.phone }),
    );
    expect((await saleOf(app, person.saleId)).rows).toEqual([["PROCESSING", null]]);
    expect(await cellsWith(app, person.traces)).toEqual([]);
  });

  // Mutation: lock no visitor in erase_step.
  test.each(["the drain", "the erase"])("with a drain that stores the visitor's events, %s first", async (first) => {
    const site = await sendingSite(app);
    const person = await leaveTraces(app, site);
    await captureMore(app, site, person);
    const { token, rows } = await service<{
      token: string;
      rows: { id: string; payload: Record<string, unknown>; phoneHash: string | null }[];
    }>(app.db.sql, "get_and_claim_fallback_batch", {});
    const values = rows.map(({ id, payload, phoneHash }) => {
      const [caller] = phoneHash ? callerHashes(phoneHash, callerRing()) : [];
      return {
        ...payload,
        id,
        fromGoogle: false,
        scrollDepth: 0,
        callerHash: caller?.hash,
        callerKeyId: caller?.keyId,
        ...stampOf(id, payload),
      };
    });
    const { person: asked } = await namedPerson(ownersDoor(app, site), { kind: "phone", value: person.phone });
    if (first === "the drain") {
      await whileOpen(
        app.db.sql,
        (tx) => tx`select public.store_events(${token}, ${tx.json(values as never)})`,
        () => erasePerson(ownersDoor(app, site), asked),
      );
    } else {
      const stored = await whileOpen(
        app.db.sql,
        (
          tx,
        ) => tx`select set_config('request.jwt.claims', ${JSON.stringify({ sub: app.owner.id, amr: [{ method: "password", timestamp: Math.floor(Date.now() / 1000) }] })}, true),
          public.erase_person(${site.siteId}, ${tx.json(asked)})`,
        () => service(app.db.sql, "store_events", { p_token: token, p_rows: values }),
      );
      expect(stored).toEqual({ stored: 0, calls: 0 });
    }
    expect(await cellsWith(app, person.traces)).toEqual([]);
  });

  test.each(["the seal", "the erase"])("with a seal of the person's lead, %s first", async (first) => {
    const site = await sendingSite(app);
    const person = await leaveTraces(app, site);
    await app.sync(
      site,
      phoneCall(site, { consent_scopes: both, meta: { fp: person.visitor, gclid: person.gclid, intent_stamp: "second" } }),
    );
    await drainEvents();
    const { id } = await callOf(app, site, "second");
    const asOwner = JSON.stringify({ sub: app.owner.id, amr: [{ method: "password", timestamp: Math.floor(Date.now() / 1000) }] });
    const move = { id, amountCents: 5_000, separateSale: true, reason: `For ${person.email}` };
    if (first === "the seal") {
      await whileOpen(
        app.db.sql,
        (tx) => tx`select set_config('request.jwt.claims', ${asOwner}, true),
          public.seal_call(${site.siteId}, ${tx.json(move)}, ${"0".repeat(64)}, null)`,
        () => erasePerson(ownersDoor(app, site), { kind: "visitor", value: person.visitor }),
      );
      expect(await cellsWith(app, person.traces)).toEqual([]);
    } else {
      await whileOpen(
        app.db.sql,
        (tx) => tx`select set_config('request.jwt.claims', ${asOwner}, true),
          public.erase_person(${site.siteId}, ${tx.json({ kind: "visitor", value: person.visitor })})`,
        () => seal(app, site, String(id)),
      );
    }
    expect(await handedOut(app, site)).toEqual([]);
    const clicks = await app.db.sql`select from public.sales where site_id = ${site.siteUuid} and gclid is not null`;
    expect(clicks).toHaveLength(0);
  });
});

/** As the worker adds it: a call without a stamp of its own is its row's. */
function stampOf(id: string, payload: Record<string, unknown>) {
  const channel = payload.category === "conversion" ? "phone" : null;
  return { channel, intentStamp: channel ? (payload.intentStamp ?? id) : null };
}
