import { createHash } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { QueueRowStory } from "#lib/oci/control-shapes.ts";
import { recordVisit } from "#scripts/local/demo/record-visit.ts";
import { actionOf, connectApi, defaultActions, defaultNames } from "#tests/support/connections.ts";
import { act, listRows, preview, readStats, undo } from "#tests/support/control.ts";
import { change } from "#tests/support/leads.ts";
import {
  claimForScript,
  claimForWorker,
  createApiTeam,
  deliverySettings,
  listGroups,
  minutesLater,
  moveConversion,
  readRow,
  sealLead,
  service,
  settleClaim,
  switchDelivery,
} from "#tests/support/queue.ts";
import { callAs, createPerson, type Person, type Team } from "#tests/support/team.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";
import { recordVerdict } from "#tests/support/verdicts.ts";

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

const claim = (minute: number) => claimForWorker(db.sql, team, { at: minutesLater(minute) });
const seal = () => sealLead(db.sql, team, { amountCents: 100_00 });
const provider = () => ({ p_site_id: team.siteId, p_provider_key: "google_ads" });
const asOwner = (call: Parameters<typeof callAs>[2]) => callAs(db.sql, owner, call);

/** What stands in the way of one of two rows, or of the whole site. */
const obstacles: Record<string, { left: number; put: (id: string) => Promise<unknown> }> = {
  nothing: { left: 2, put: async () => undefined },
  "a time for the next try": {
    left: 1,
    put: async (id) => {
      const { token } = await claim(1);
      const [other] = await db.sql`select id from public.offline_conversion_queue where site_id = ${team.siteId} and id <> ${id}`;
      const later = { outcome: "RETRY", category: "TRANSIENT", code: "X", retryAt: minutesLater(60).toISOString() };
      const p_results = [
        { id, ...later },
        { id: other?.id, ...later, retryAt: minutesLater(2).toISOString() },
      ];
      await service(db.sql, "settle_offline_conversion_jobs", { p_site_id: team.siteId, p_token: token, p_results }, minutesLater(1));
    },
  },
  "a sale that was cancelled": {
    left: 1,
    put: async (id) => change(db.sql, { team }, "cancel_sale", { id: (await readRow(db.sql, id)).sale_id }, { at: minutesLater(2) }),
  },
  "a row that was given up": { left: 1, put: (id) => moveConversion(db.sql, team, { id, to: "FAILED" }, minutesLater(2)) },
  "a block": {
    left: 0,
    put: () =>
      service(db.sql, "block_provider", { ...provider(), p_code: "AUTH", p_message: "m", p_credentials_version: 1 }, minutesLater(2)),
  },
  "a wait that Google asked for": {
    left: 0,
    put: async () => {
      const quotaUntil = minutesLater(60).toISOString();
      const wait = {
        outcome: "RETRY" as const,
        category: "RATE_LIMIT",
        code: "RESOURCE_EXHAUSTED",
        retryAt: minutesLater(2).toISOString(),
        free: true,
      };
      await settleClaim(db.sql, team, await claim(1), wait, { at: minutesLater(1), batch: { outcome: "definite", quotaUntil } });
    },
  },
  "no credentials": { left: 0, put: () => asOwner((tx) => tx`select public.disconnect_provider(${team.publicId})`) },
  "a script that sends": { left: 0, put: () => switchDelivery(db.sql, team, "script") },
  "an archived site": { left: 0, put: () => asOwner((tx) => tx`select public.set_site_archived(${team.publicId}, true)`) },
  "no conversion action of that name": { left: 0, put: () => connectApi(db.sql, team, { actions: defaultActions.slice(1) }) },
  "another name in the settings, which takes its action along": {
    left: 2,
    put: () => deliverySettings(db.sql, team, { conversionNames: { seal: "Renamed" } }),
  },
  "a row that a script may have uploaded under a name that its action does not have at Google": {
    left: 1,
    put: async (id) => {
      await connectApi(db.sql, team, { actions: defaultActions.map((chosen) => ({ ...chosen, googleName: "Sales by API" })) });
      await switchDelivery(db.sql, team, "script");
      await claimForScript(db.sql, team, [id], minutesLater(1));
      await service(db.sql, "recover_stuck_offline_conversion_jobs", { p_min_age_minutes: 1 }, minutesLater(2));
      await switchDelivery(db.sql, team, "api");
    },
  },
  "a blocked conversion action": {
    left: 0,
    put: async () => {
      const probe = await sealLead(db.sql, team);
      const claimed = await claimForWorker(db.sql, team, { at: minutesLater(1), limit: 1 });
      const blockActions = [{ conversionName: defaultNames.seal, code: "NO_CONVERSION_ACTION_FOUND", message: "m" }];
      const options = { at: minutesLater(1), batch: { outcome: "definite", blockActions } };
      await settleClaim(db.sql, team, claimed, { outcome: "FAILED", category: "VALIDATION", code: "NO_CONVERSION_ACTION_FOUND" }, options);
      expect(probe.id).not.toBe("");
    },
  },
};

// Guarantee: a group's share of a run is counted by the rule that its claim goes by: a slot is never given to rows nobody can have.
// Mutation that breaks it: take any condition out of sendable_queue and write it into lock_due alone.
describe("listed is what is claimed, with", () => {
  test.each(Object.entries(obstacles))("%s", async (_name, { left, put }) => {
    const { id } = await seal();
    await seal();
    await put(id);
    const groups = await listGroups(db.sql, minutesLater(3), [team.siteId]);
    const { rows } = await claim(3);
    expect([groups[0]?.queued_count ?? 0, rows.length]).toEqual([left, left]);
    const deferral = { ...provider(), p_limit: 100, p_until: minutesLater(60), p_code: "CIRCUIT_OPEN", p_words: "w" };
    await service(db.sql, "recover_stuck_offline_conversion_jobs", {}, minutesLater(30));
    expect(await service(db.sql, "defer_offline_conversion_jobs", deferral, minutesLater(30))).toEqual({ deferred: left });
  });

  test("a row that kept an older name: its own action counts, not the settings'", async () => {
    const { id } = await seal();
    await claim(1);
    await service(db.sql, "recover_stuck_offline_conversion_jobs", {}, minutesLater(20));
    await deliverySettings(db.sql, team, { conversionNames: { seal: "Renamed" } });
    await connectApi(db.sql, team, { actions: defaultActions.slice(1) }); // none for the new name; the old one keeps its line
    await seal();
    expect((await claim(21)).rows).toMatchObject([{ id, conversionName: defaultNames.seal, conversionAction: actionOf(1) }]);
    const { rows } = await listRows(db.sql, team, { status: "QUEUED" }, { at: minutesLater(22) });
    expect(rows).toMatchObject([{ waitsFor: "ACTION" }]);
  });

  // Guarantee: rows that the gate holds for hours do not look as if they went within minutes.
  test("a wait that Google asked for is named on every row of the site, with its end", async () => {
    await seal();
    await obstacles["a wait that Google asked for"]?.put("");
    await seal();
    const shown = async (minute: number) =>
      (await listRows(db.sql, team, {}, { at: minutesLater(minute) })).rows.map(({ waitsFor, waitsUntil }) => [
        waitsFor,
        waitsUntil && new Date(waitsUntil),
      ]);
    expect(await shown(3)).toEqual([
      ["QUOTA", minutesLater(60)],
      ["QUOTA", minutesLater(60)],
    ]);
    expect(await shown(61)).toEqual([
      [null, null],
      [null, null],
    ]);
  });

  test("groups come in the order of their oldest row, with their circuit and when they were last served", async () => {
    const other = await createApiTeam(db.sql, `sendable-${++teams}`, owner);
    await sealLead(db.sql, other, { at: minutesLater(-10) });
    await seal();
    const groups = await listGroups(db.sql, minutesLater(3), [team.siteId, other.siteId]);
    expect(groups.map(({ site_id }) => site_id)).toEqual([other.siteId, team.siteId]);
    expect(groups[0]).toMatchObject({ state: "CLOSED", probe_limit: 5, next_probe_at: null, is_probe_due: false, served_at: null });
    await claim(3);
    await seal();
    const [served] = await listGroups(db.sql, minutesLater(4), [team.siteId]);
    expect(new Date(served?.served_at ?? 0)).toEqual(minutesLater(3));
  });
});

// Guarantee: the sender needs nothing but the row, and says no more of the customer than the customer allowed.
// A dry run asks about the same. Mutation that breaks it: the present action, or another rule of consent, in conversion_job.
describe("a claimed row carries", () => {
  /** A claim, after a look at what a dry run of each row would have asked Google. */
  async function claim(minute: number) {
    const waiting =
      await db.sql`select id from public.offline_conversion_queue where site_id = ${team.siteId} and status in ('QUEUED', 'RETRY')`;
    const asked = await Promise.all(
      waiting.map(({ id }) => service(db.sql, "conversion_job", { p_site_id: team.siteId, p_id: id }, minutesLater(minute))),
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
      await tx`select public.record_consent(${team.siteId}, ${tx.json(choice)})`;
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
    const { id } = await callAs<{ id: string }>(
      db.sql,
      owner,
      (tx) => tx`select public.create_site_api_key(${team.publicId}, 'Till', '{sales}')`,
    );
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

// Guarantee: what no API adjusts becomes a person's work, on an API site too, and never a value of 0.
describe("an adjustment that no API makes", () => {
  /** Confirmed at Google and then cancelled: the retraction's id. */
  async function cancelled(step = {}): Promise<string> {
    const { saleId } = await sealLead(db.sql, team, { amountCents: 100_00, step });
    const result = { outcome: "COMPLETED", requestId: saleId, recordIndex: 0 } as const;
    await settleClaim(db.sql, team, await claim(1), result, { at: minutesLater(2) });
    await recordVerdict(db.sql, team, saleId, "CONFIRMED", minutesLater(40));
    await change(db.sql, { team }, "cancel_sale", { id: saleId }, { at: minutesLater(41) });
    const [row] = await db.sql`select id from public.offline_conversion_queue where sale_id = ${saleId} and kind = 'RETRACT'`;
    return String(row?.id);
  }
  const refused = { outcome: "FAILED", category: "AUTH", code: "USER_PERMISSION_DENIED", byHand: "NO_ADS_API_ACCESS" } as const;
  const done = (id: string, minute: number) =>
    callAs(
      db.sql,
      team.operator,
      (tx) => tx`select public.complete_adjustment_by_hand(${team.publicId}, ${tx.json({ id, valueCents: 0 })})`,
      minutesLater(minute),
    );

  // Mutations that break it: fail the row; leave by_hand_reason out of complete_adjustment_by_hand or of the figures.
  test("for want of access waits for a person, is never claimed or capped, and can be marked done", async () => {
    const id = await cancelled();
    expect(await settleClaim(db.sql, team, await claim(42), refused, { at: minutesLater(43) })).toMatchObject({ retried: 1 });
    expect(await readRow(db.sql, id)).toMatchObject({ status: "RETRY", next_retry_at: null, by_hand_reason: "NO_ADS_API_ACCESS" });
    await service(db.sql, "oci_attempt_cap", { p_max_attempts: 1 }, minutesLater(60));
    expect((await claim(61)).rows).toEqual([]);
    expect(await listGroups(db.sql, minutesLater(61), [team.siteId])).toEqual([]);
    expect(await readStats(db.sql, team, minutesLater(61))).toMatchObject({ waitingByHand: 1 });
    for (const to of ["api", "script"]) {
      const preview = await asOwner((tx) => tx`select public.preview_delivery_switch(${team.publicId}, ${to})`);
      expect(preview).toMatchObject({ adjustmentsByHand: 1 }); // a switch changes nothing about it
    }
    const { rows } = await listRows(db.sql, team, { q: id }, { at: minutesLater(61) });
    expect(rows).toMatchObject([{ byHandReason: "NO_ADS_API_ACCESS", waitsFor: null }]);
    await done(id, 62);
    expect((await readRow(db.sql, id)).status).toBe("COMPLETED");
  });

  test("is tried over the API again when an operator says so, and not after an undo of that", async () => {
    const id = await cancelled();
    await settleClaim(db.sql, team, await claim(42), refused, { at: minutesLater(43) });
    const again = { action: "RETRY_SELECTED", ids: [id], overApi: true } as const;
    const { body } = await act(db.sql, again, { team, at: minutesLater(44) });
    expect((await readRow(db.sql, id)).by_hand_reason).toBeNull();
    await undo(db.sql, body.actionId, { team, at: minutesLater(45) });
    expect((await readRow(db.sql, id)).by_hand_reason).toBe("NO_ADS_API_ACCESS");
    await act(db.sql, again, { team, at: minutesLater(46) });
    expect((await claim(47)).rows).toMatchObject([{ id, via: "ads_api" }]);
  });

  // Guarantee: a bulk retry does not send what somebody may have done in Google Ads already; the preview says what it leaves alone, and why.
  // Mutation that breaks it: drop BY_HAND from judge_queue_rows.
  test("is left alone by a retry, a reset, a preview and a move, unless an operator says so of that row", async () => {
    const id = await cancelled();
    await settleClaim(db.sql, team, await claim(42), refused, { at: minutesLater(43) });
    const at = minutesLater(44);
    for (const action of ["RETRY_SELECTED", "RESET_TO_QUEUED"] as const) {
      const { body } = await act(db.sql, { action, ids: [id] }, { team, at });
      expect(body).toMatchObject({ affected: 0, skipped: [{ id, reason: "BY_HAND", status: "RETRY" }] });
      expect(await preview(db.sql, action, { q: id }, { team, at })).toMatchObject({ count: 0, ineligible: { BY_HAND: 1 } });
    }
    expect(await moveConversion(db.sql, team, { id, to: "QUEUED" }, at)).toMatchObject({ status: 409, body: { code: "ILLEGAL_MOVE" } });
    for (const action of [
      { action: "RESET_TO_QUEUED", ids: [id], overApi: true },
      { action: "RETRY_SELECTED", previewId: id, digest: "", overApi: true },
    ] as const)
      await expect(act(db.sql, action, { team, at })).rejects.toMatchObject({ code: "PT400" });
    expect(await readRow(db.sql, id)).toMatchObject({ status: "RETRY", by_hand_reason: "NO_ADS_API_ACCESS" });
    expect((await claim(45)).rows).toEqual([]);
    const asked = await callAs<QueueRowStory>(
      db.sql,
      team.viewer,
      (tx) => tx`select public.queue_row_story(${team.publicId}, ${id}, 5)`,
      at,
    );
    expect(asked).toMatchObject({ allowedActions: ["MARK_FAILED"], canTryApi: true });
  });

  test("comes back as a person's work when it was given up and is put back", async () => {
    const id = await cancelled();
    await settleClaim(db.sql, team, await claim(42), refused, { at: minutesLater(43) });
    await act(db.sql, { action: "MARK_FAILED", ids: [id] }, { team, at: minutesLater(44) });
    await act(db.sql, { action: "RESET_TO_QUEUED", ids: [id] }, { team, at: minutesLater(45) });
    expect(await readRow(db.sql, id)).toMatchObject({ status: "QUEUED", by_hand_reason: "NO_ADS_API_ACCESS" });
    expect((await claim(46)).rows).toEqual([]);
    await done(id, 47);
  });

  // Guarantee: what one account has is never sent to another, where its order id would be a new conversion; a person changes it there.
  // Mutations that break it: drop the account from sendable_queue, mark_elsewhere from connecting, or is_elsewhere from follow_ledger.
  test.each([
    ["before", true],
    ["after", false],
  ])(
    "of what another account has is by hand when the site moves %s the sale is cancelled, and the API's again when it comes back",
    async (_name, isLater) => {
      const moved = defaultActions.map((chosen) => ({ ...chosen, action: chosen.action.replace("1234567890", "9999999999") }));
      const { saleId } = await seal();
      const sent = { outcome: "COMPLETED", requestId: saleId, recordIndex: 0 } as const;
      await settleClaim(db.sql, team, await claim(1), sent, { at: minutesLater(2) });
      await recordVerdict(db.sql, team, saleId, "CONFIRMED", minutesLater(40));
      const cancel = () => change(db.sql, { team }, "cancel_sale", { id: saleId }, { at: minutesLater(41) });
      if (!isLater) await cancel();
      await connectApi(db.sql, team, { actions: moved, at: minutesLater(41) });
      if (isLater) await cancel();
      const [row] =
        await db.sql`select id, by_hand_reason from public.offline_conversion_queue where sale_id = ${saleId} and kind = 'RETRACT'`;
      expect(row?.by_hand_reason).toBe("OTHER_ACCOUNT");
      await act(db.sql, { action: "RESET_TO_QUEUED", ids: [row?.id] }, { team, at: minutesLater(42) });
      expect((await claim(43)).rows).toEqual([]);
      await connectApi(db.sql, team, { at: minutesLater(44) });
      expect((await claim(45)).rows).toMatchObject([{ id: row?.id, conversionAction: actionOf(1) }]);
    },
  );

  // Mutation that breaks it: drop click_kind from hand_out or complete_rows.
  test("of a conversion that left with a wbraid alone is by hand from the start, also after the click was forgotten", async () => {
    const visitor = `wbraid-${teams}`;
    const id = await cancelled({ gclid: null, wbraid: `wbraid-${teams}`, visitor });
    await recordVisit(db.sql, team.siteId, visitor, [{ at: minutesLater(42), url: "https://sendable.test/", marketingConsent: false }]);
    expect(await readRow(db.sql, id)).toMatchObject({ status: "QUEUED", by_hand_reason: "WBRAID_ONLY" });
    await act(db.sql, { action: "RESET_TO_QUEUED", ids: [id] }, { team, at: minutesLater(43) });
    expect((await claim(44)).rows).toEqual([]);
    expect((await readRow(db.sql, id)).by_hand_reason).toBe("WBRAID_ONLY");
    await done(id, 45);
  });

  test("an adjustment that an API makes cannot be marked done", async () => {
    await expect(done(await cancelled(), 50)).rejects.toMatchObject({ message: "ILLEGAL_MOVE" });
  });

  // Guarantee: a retraction never becomes a conversion of 0 at Data Manager, whoever writes the dispatch.
  test("a retraction settled as sent through Data Manager is refused", async () => {
    await cancelled();
    const claimed = await claim(42);
    const settled = settleClaim(db.sql, team, claimed, { outcome: "COMPLETED", transport: "data_manager" }, { at: minutesLater(43) });
    await expect(settled).rejects.toThrow("data_manager_cannot_retract");
  });
});
