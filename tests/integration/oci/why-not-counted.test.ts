import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type WhyMessage, whyMessage } from "#lib/oci/queue/why-message.ts";
import { deliveryLinks, type WhyNotCounted, whyNotCounted } from "#lib/oci/queue/why-not-counted.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { actionOf, connectApi, defaultNames } from "#tests/fixtures/connections.ts";
import { change, newLead } from "#tests/fixtures/leads.ts";
import { claimForScript, claimForWorker, minutesLater, type Result, type Sealed, sealLead, settleClaim } from "#tests/fixtures/queue.ts";
import { createApiTeam, createQueueTeam } from "#tests/fixtures/queue-team.ts";
import { service } from "#tests/fixtures/service.ts";
import { createKey, deliverySettings, switchDelivery } from "#tests/fixtures/site.ts";
import { createTeam, handOver, type Person, type Team } from "#tests/fixtures/team.ts";
import { openCircuit } from "#tests/support/circuit.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

let db: TestDatabase;
let founder: Person;
beforeAll(async () => {
  db = await createTestDatabase();
  founder = (await createTeam(db.sql, "first")).owner;
});
afterAll(() => db.drop());

const day = 24 * 60;
const script = () => createQueueTeam(db.sql, `script-${randomUUID().slice(0, 8)}`, founder, "script");
const api = (connection = {}) => createApiTeam(db.sql, `api-${randomUUID().slice(0, 8)}`, founder, connection);

const why = (team: Team, saleId: string, at: Date, person: Pick<Person, "id"> = team.viewer): Promise<WhyNotCounted> =>
  callAs(db.sql, person, (tx) => tx`select public.why_not_counted(${team.publicId}, ${saleId})`, at);

/** Claims the site's rows at a minute and answers for them. */
async function send(team: Team, answer: Result, minute = 1, batch?: Record<string, unknown>): Promise<void> {
  const at = minutesLater(minute);
  await settleClaim(db.sql, team, await claimForWorker(db.sql, team, { at }), answer, { at, ...(batch && { batch }) });
}
const accepted = (requestId: string, more = {}): Result => ({ outcome: "COMPLETED", requestId, recordIndex: 0, ...more });
const failure = (code: string, category = "VALIDATION"): Result => ({ outcome: "FAILED", code, category, words: `${code} said Google` });

/** A conversion that Data Manager took; `answer` is what it says later. */
async function taken(answer?: Record<string, unknown>): Promise<{ team: Team } & Sealed> {
  const team = await api();
  const row = await sealLead(db.sql, team);
  const requestId = randomUUID();
  await send(team, accepted(requestId), 1, { outcome: "success", firstPollSeconds: 1800 });
  if (answer)
    await service(
      db.sql,
      "record_verdicts",
      { p_site_id: team.siteId, p_request_id: requestId, p_answer: { verdicts: [], rest: null, ...answer } },
      minutesLater(40),
    );
  return { team, ...row };
}
const rejected = (reason: string) => ({ status: "PARTIAL_SUCCESS", verdicts: [{ index: 0, verdict: "REJECTED", reason }] });

const cancel = (team: Team, saleId: string, minute: number) =>
  change(db.sql, { team }, "cancel_sale", { id: saleId }, { at: minutesLater(minute) });

/** A sale that another system reports, without anything to match it by. */
async function reported(): Promise<{ team: Team; saleId: string }> {
  const team = await script();
  const key = await createKey(db.sql, team, ["sales"]);
  const sale = { externalRef: randomUUID(), occurredAt: minutesLater(-1).toISOString(), amountCents: 5_000 };
  const [row] = await db.sql.begin(async (tx) => {
    await tx`select set_config('opsmantik.now', ${minutesLater(0).toISOString()}, true)`;
    return tx`select (public.record_external_sale(${key.id}, ${tx.json(sale)}, ${"0".repeat(64)}) ->> 'body')::jsonb ->> 'sale_id' as id`;
  });
  return { team, saleId: String(row?.id) };
}

/** Sealed without anything that Google could match. */
async function without(step: Record<string, unknown>, at = minutesLater(0)): Promise<{ team: Team; saleId: string }> {
  const team = await script();
  const callId = await newLead(db.sql, team, { at: minutesLater(-5), ...step });
  const { body } = await change(db.sql, { team }, "seal_call", { id: callId, amountCents: 9_000 }, { at });
  return { team, saleId: String(body.saleId) };
}

interface Case {
  link: WhyNotCounted["link"];
  code: string | null;
  key: WhyMessage["key"];
  /** The minute at which somebody asks. */
  asks?: number;
  make: () => Promise<{ team: Team; saleId: string }>;
}

const cases: Record<string, Case> = {
  "a lead without a click": { link: "CLICK", code: "NO_CLICK_ID", key: "noClick", make: () => without({ gclid: null }) },
  "a sale from elsewhere that matches nobody": { link: "CLICK", code: "NO_MATCH", key: "noMatch", make: reported },
  "a visitor who did not agree": {
    link: "CONSENT",
    code: "NO_CONSENT",
    key: "noConsent",
    make: () => without({ marketingConsent: false, marketingDefault: false }),
  },
  "a click that was too old when it was sealed": {
    link: "CLICK_AGE",
    code: "CLICK_EXPIRED",
    key: "clickExpired",
    make: () => without({}, minutesLater(91 * day)),
  },
  "a click that grew too old while it waited": {
    link: "CLICK_AGE",
    code: "CLICK_EXPIRED",
    key: "clickExpired",
    asks: 91 * day,
    make: async () => {
      const team = await script();
      return { team, ...(await sealLead(db.sql, team)) };
    },
  },
  "the undo window": {
    link: "WAITS",
    code: "UNDO_WINDOW",
    key: "undoWindow",
    make: async () => {
      const team = await script();
      await deliverySettings(db.sql, team, { sendDelayMinutes: 30, clickMinAgeHours: 0 });
      return { team, ...(await sealLead(db.sql, team)) };
    },
  },
  "a click that is too young": {
    link: "WAITS",
    code: "CLICK_TOO_YOUNG",
    key: "clickTooYoung",
    make: async () => {
      const team = await script();
      await deliverySettings(db.sql, team, { sendDelayMinutes: 10, clickMinAgeHours: 6 });
      return { team, ...(await sealLead(db.sql, team)) };
    },
  },
  "a script that has not run": {
    link: "WAITS",
    code: "SCRIPT_RUN",
    key: "scriptRun",
    make: async () => {
      const team = await script();
      return { team, ...(await sealLead(db.sql, team)) };
    },
  },
  "a worker that has not run": {
    link: "WAITS",
    code: "DUE",
    key: "due",
    make: async () => {
      const team = await api();
      return { team, ...(await sealLead(db.sql, team)) };
    },
  },
  "a site that is not connected": {
    link: "CONNECTION",
    code: "NOT_CONNECTED",
    key: "notConnected",
    make: async () => {
      const team = await api();
      const row = await sealLead(db.sql, team);
      await callAs(db.sql, team.owner, (tx) => tx`select public.disconnect_provider(${team.publicId})`);
      return { team, ...row };
    },
  },
  "access that Google withdrew, for what waits": {
    link: "BLOCKED",
    code: "invalid_grant",
    key: "blocked",
    make: async () => {
      const { team } = await blocked();
      return { team, ...(await sealLead(db.sql, team)) };
    },
  },
  "access that Google withdrew, for what failed by it": { link: "BLOCKED", code: "invalid_grant", key: "blocked", make: () => blocked() },
  "no conversion action for the name": {
    link: "ACTION",
    code: "MISSING",
    key: "actionMissing",
    make: async () => {
      const team = await api();
      await connectApi(db.sql, team, { actions: [] });
      return { team, ...(await sealLead(db.sql, team)) };
    },
  },
  "a conversion action of another name than the script sent": {
    link: "ACTION",
    code: "NAME_DIFFERS",
    key: "actionNamed",
    make: async () => {
      const team = await script();
      const row = await sealLead(db.sql, team);
      await claimForScript(db.sql, team, [row.id], minutesLater(1));
      await service(db.sql, "recover_stuck_offline_conversion_jobs", {}, minutesLater(20));
      const actions = [{ conversionName: defaultNames.seal, action: actionOf(1), googleName: "Sales by API" }];
      await connectApi(db.sql, team, { actions });
      await switchDelivery(db.sql, team, "api");
      return { team, ...row };
    },
  },
  "an account that never answered, and that the site has left": {
    link: "ACTION",
    code: "OTHER_ACCOUNT",
    key: "actionElsewhere",
    make: async () => {
      const team = await api();
      const row = await sealLead(db.sql, team);
      await claimForWorker(db.sql, team, { at: minutesLater(1) });
      await service(db.sql, "recover_stuck_offline_conversion_jobs", {}, minutesLater(20));
      const actions = [{ conversionName: defaultNames.seal, action: actionOf(1).replace("1234567890", "9999999999") }];
      await connectApi(db.sql, team, { actions });
      return { team, ...row };
    },
  },
  "a conversion action that Google refuses": {
    link: "ACTION",
    code: "NO_CONVERSION_ACTION_FOUND",
    key: "actionBlocked",
    make: async () => {
      const team = await api();
      await sealLead(db.sql, team);
      const blockActions = [{ conversionName: defaultNames.seal, code: "NO_CONVERSION_ACTION_FOUND", message: "none" }];
      await send(team, failure("NO_CONVERSION_ACTION_FOUND"), 1, { outcome: "definite", blockActions });
      return { team, ...(await sealLead(db.sql, team)) };
    },
  },
  "an open circuit": {
    link: "CIRCUIT",
    code: "OPEN",
    key: "circuitOpen",
    make: async () => {
      const team = await api();
      const row = await sealLead(db.sql, team);
      await openCircuit(db.sql, team, minutesLater(1));
      return { team, ...row };
    },
  },
  // Guarantee: a wait of hours is not shown as "goes within minutes".
  "a wait that Google asked the whole site for": {
    link: "WAITS",
    code: "QUOTA",
    key: "quota",
    make: async () => {
      const team = await api();
      await sealLead(db.sql, team);
      const quotaUntil = minutesLater(360).toISOString();
      const wait = { outcome: "RETRY", category: "RATE_LIMIT", code: "RESOURCE_EXHAUSTED", free: true, retryAt: quotaUntil } as const;
      await send(team, wait, 1, { outcome: "none", quotaUntil });
      return { team, ...(await sealLead(db.sql, team)) };
    },
  },
  "a worker that was full": {
    link: "WAITS",
    code: "CONCURRENCY_LIMIT",
    key: "busy",
    make: async () => {
      const team = await api();
      const row = await sealLead(db.sql, team);
      await deferred(team, "CONCURRENCY_LIMIT");
      return { team, ...row };
    },
  },
  // Guarantee: a deferral says how long it waits, never why; the reason is what the last real attempt met.
  "a try that did not work, deferred since": {
    link: "RETRIES",
    code: "UNAVAILABLE",
    key: "retries",
    asks: 100,
    make: async () => {
      const team = await api();
      const row = await sealLead(db.sql, team);
      await send(team, { outcome: "RETRY", code: "UNAVAILABLE", category: "TRANSIENT", words: "503" });
      await deferred(team, "CONCURRENCY_LIMIT", 90);
      return { team, ...row };
    },
  },
  // Guarantee: what nobody but the server's host can fix is not hidden behind an error of Google's.
  "a server without its vault key, after a try that did not work": {
    link: "WAITS",
    code: "VAULT_KEY_MISSING",
    key: "serverKey",
    asks: 100,
    make: async () => {
      const team = await api();
      const row = await sealLead(db.sql, team);
      await send(team, { outcome: "RETRY", code: "UNAVAILABLE", category: "TRANSIENT", words: "503" });
      await deferred(team, "VAULT_KEY_MISSING", 90);
      return { team, ...row };
    },
  },
  "an attempt without an answer yet": {
    link: "IN_FLIGHT",
    code: null,
    key: "inFlight",
    make: async () => {
      const team = await api();
      const row = await sealLead(db.sql, team);
      await claimForWorker(db.sql, team, { at: minutesLater(1) });
      return { team, ...row };
    },
  },
  "an attempt that never got an answer": {
    link: "IN_FLIGHT",
    code: "STUCK",
    key: "stuck",
    asks: 30,
    make: async () => {
      const team = await api();
      const row = await sealLead(db.sql, team);
      await claimForWorker(db.sql, team, { at: minutesLater(1) });
      return { team, ...row };
    },
  },
  "a failure": {
    link: "FAILED",
    code: "UNPARSEABLE_GCLID",
    key: "failed",
    make: async () => {
      const team = await api();
      const row = await sealLead(db.sql, team);
      await send(team, failure("UNPARSEABLE_GCLID"), 1, { outcome: "definite" });
      return { team, ...row };
    },
  },
  "a verdict that is still to come": { link: "VERDICT", code: "NO_VERDICT_YET", key: "verdictDue", make: () => taken() },
  "a rejection": { link: "REJECTED", code: "CLICK_NOT_FOUND", key: "rejected", asks: 50, make: () => taken(rejected("CLICK_NOT_FOUND")) },
  "a rejection that Google wants later": {
    link: "WAITS",
    code: "GOOGLE_ASKED",
    key: "googleAsked",
    asks: 50,
    make: () =>
      taken({
        status: "PARTIAL_SUCCESS",
        verdicts: [{ index: 0, verdict: "REJECTED", reason: "TOO_RECENT_EVENT", retryable: true }],
      }),
  },
  "an answer that Google lost": { link: "UNKNOWN", code: null, key: "unknown", asks: 50, make: () => taken({ status: "LOST" }) },
  "a duplicate": {
    link: "DUPLICATE",
    code: null,
    key: "duplicate",
    asks: 50,
    make: () => taken({ status: "PARTIAL_SUCCESS", verdicts: [{ index: 0, verdict: "DUPLICATE" }] }),
  },
  "a conversion that counts": {
    link: "COUNTED",
    code: null,
    key: "counted",
    asks: 50,
    make: () => taken({ status: "SUCCESS", rest: "CONFIRMED" }),
  },
  "what a script handed over": {
    link: "NO_VERDICT",
    code: "script",
    key: "noVerdictScript",
    make: async () => {
      const team = await script();
      const row = await sealLead(db.sql, team);
      await claimForScript(db.sql, team, [row.id], minutesLater(1));
      await service(db.sql, "ack_offline_conversions", { p_site_id: team.siteId, p_ids: [row.id] }, minutesLater(2));
      return { team, ...row };
    },
  },
  "what the Ads API took": {
    link: "NO_VERDICT",
    code: "ads_api",
    key: "noVerdictAdsApi",
    make: async () => {
      const team = await api({ transport: "ads_api" });
      const row = await sealLead(db.sql, team);
      await send(team, accepted(randomUUID()), 1, { outcome: "success" });
      return { team, ...row };
    },
  },
  "a sale that was cancelled in time": {
    link: "CANCELLED",
    code: "NEVER_SENT",
    key: "cancelledNeverSent",
    make: async () => {
      const team = await api();
      const row = await sealLead(db.sql, team);
      await cancel(team, row.saleId, 1);
      return { team, ...row };
    },
  },
  "a cancelled sale that Google still counts": {
    link: "CANCELLED",
    code: "RETRACTING",
    key: "cancelledRetracting",
    asks: 60,
    make: async () => {
      const sold = await taken({ status: "SUCCESS", rest: "CONFIRMED" });
      await cancel(sold.team, sold.saleId, 55);
      return sold;
    },
  },
  "a cancelled sale that Google took back": {
    link: "CANCELLED",
    code: "RETRACTED",
    key: "cancelledRetracted",
    asks: 70,
    make: async () => {
      const sold = await taken({ status: "SUCCESS", rest: "CONFIRMED" });
      await cancel(sold.team, sold.saleId, 55);
      await send(sold.team, accepted(randomUUID()), 60, { outcome: "success" });
      return sold;
    },
  },
  "a cancelled sale that somebody must take back in Google Ads": {
    link: "CANCELLED",
    code: "BY_HAND",
    key: "cancelledByHand",
    asks: 70,
    make: async () => {
      const sold = await taken({ status: "SUCCESS", rest: "CONFIRMED" });
      await cancel(sold.team, sold.saleId, 55);
      await send(sold.team, { outcome: "RETRY", code: "CUSTOMER_NOT_ALLOWLISTED", category: "AUTH", byHand: "NO_ADS_API_ACCESS" }, 60, {
        outcome: "definite",
      });
      return sold;
    },
  },
  "a sale that was cancelled too late": {
    link: "CANCELLED",
    code: "TOO_LATE",
    key: "cancelledTooLate",
    asks: 55 * day,
    make: async () => {
      const sold = await taken({ status: "SUCCESS", rest: "CONFIRMED" });
      await cancel(sold.team, sold.saleId, 55 * day);
      return sold;
    },
  },
};

/** A site whose credentials Google refused, with the sale that it failed by. */
async function blocked() {
  const team = await api();
  const row = await sealLead(db.sql, team);
  await send(team, failure("invalid_grant", "AUTH"), 1, { outcome: "definite", block: { code: "invalid_grant", message: "revoked" } });
  return { team, ...row };
}

const deferred = (team: Team, code: string, minute = 1) =>
  service(
    db.sql,
    "defer_offline_conversion_jobs",
    { p_site_id: team.siteId, p_provider_key: "google_ads", p_limit: 10, p_until: minutesLater(minute + 60), p_code: code, p_words: code },
    minutesLater(minute),
  );

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
    await callAs(db.sql, team.owner, (tx) => tx`select public.set_site_archived(${team.publicId}, true)`, minutesLater(1));
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
