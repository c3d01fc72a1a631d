import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { callAs } from "#tests/fixtures/act-as.ts";
import { actionOf, connectApi, defaultNames } from "#tests/fixtures/connections.ts";
import { change } from "#tests/fixtures/leads.ts";
import { claimForScript, claimForWorker, listGroups, minutesLater, type Sealed, sealLead, settleClaim } from "#tests/fixtures/queue.ts";
import { createApiTeam, createQueueTeam } from "#tests/fixtures/queue-team.ts";
import { service } from "#tests/fixtures/service.ts";
import { deliverySettings, switchDelivery } from "#tests/fixtures/site.ts";
import { createPerson, type Person, type Team } from "#tests/fixtures/team.ts";
import { listRows, readStats } from "#tests/support/control.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";
import { recordVerdict } from "#tests/support/verdicts.ts";

let db: TestDatabase;
let owner: Person;
let made = 0;
beforeAll(async () => {
  db = await createTestDatabase();
  owner = await createPerson(db.sql, "owner@both-ways.test");
});
afterAll(() => db.drop());

const name = () => `both-ways-${++made}`;
const days = (count: number) => count * 1440;
const recover = (minute: number) => service(db.sql, "recover_stuck_offline_conversion_jobs", {}, minutesLater(minute));
const cancel = (team: Team, { saleId }: Sealed, minute: number) =>
  change(db.sql, { team }, "cancel_sale", { id: saleId }, { at: minutesLater(minute) });
const sealAction = (action: string, googleName: string) => [{ conversionName: defaultNames.seal, action, googleName }];
const byApi = "Sales by API";
const otherName = sealAction(actionOf(1), byApi);
const retractionOf = async ({ saleId }: Sealed) => {
  const [row] = await db.sql`select * from public.offline_conversion_queue where sale_id = ${saleId} and kind = 'RETRACT'`;
  return row;
};
const markDone = (team: Team, id: string, minute: number) =>
  callAs(
    db.sql,
    team.operator,
    (tx) => tx`select public.complete_adjustment_by_hand(${team.siteId}, ${tx.json({ id, valueCents: 0 })})`,
    minutesLater(minute),
  );

// Guarantee: a sale counts once, whichever ways it took. One order id under two actions is two conversions at Google.
// Mutations that break it: let hand_out give a script the row's own name; keep the action of a row that never arrived when a script gets it; read
// the name from the chosen actions, which the owner has changed since.
describe("from the API to the script", () => {
  const lostByApi = async () => {
    const team = await createApiTeam(db.sql, name(), owner, { actions: otherName });
    const sealed = await sealLead(db.sql, team);
    expect((await claimForWorker(db.sql, team, { at: minutesLater(1) })).rows).toMatchObject([{ conversionAction: actionOf(1) }]);
    await recover(20); // nobody answered: Google may count it under action 1
    return { team, sealed };
  };
  const previewed = async (team: Team, minute: number) => {
    const page = await service<{ seals: object[] }>(
      db.sql,
      "get_export_page",
      { p_site_id: team.siteUuid, p_max_attempts: 5 },
      minutesLater(minute),
    );
    return page.seals;
  };

  test("what the API may have delivered is uploaded under Google's name of that action, also after another was chosen", async () => {
    const { team, sealed } = await lostByApi();
    await connectApi(db.sql, team, { actions: sealAction(actionOf(2), defaultNames.seal), at: minutesLater(20) });
    await callAs(db.sql, team.owner, (tx) => tx`select public.disconnect_provider(${team.siteId})`);
    await switchDelivery(db.sql, team, "script");
    expect(await previewed(team, 21)).toMatchObject([{ conversionName: byApi }]);
    const { rows } = await claimForScript(db.sql, team, [sealed.id], minutesLater(21));
    expect(rows).toMatchObject([{ conversionName: byApi, conversionAction: actionOf(1) }]);
    await service(db.sql, "ack_offline_conversions", { p_site_id: team.siteUuid, p_ids: [sealed.id] }, minutesLater(22));
    await connectApi(db.sql, team, { actions: sealAction(actionOf(2), defaultNames.seal), at: minutesLater(23) });
    await switchDelivery(db.sql, team, "api");
    await cancel(team, sealed, 24);
    expect((await claimForWorker(db.sql, team, { at: minutesLater(days(3)) })).rows).toMatchObject([
      { kind: "RETRACT", conversionAction: actionOf(1) },
    ]);
  });

  test("and back to the API it goes to the same action", async () => {
    const { team, sealed } = await lostByApi();
    await switchDelivery(db.sql, team, "script");
    await claimForScript(db.sql, team, [sealed.id], minutesLater(21));
    await recover(40);
    await switchDelivery(db.sql, team, "api");
    expect((await claimForWorker(db.sql, team, { at: minutesLater(41) })).rows).toMatchObject([{ conversionAction: actionOf(1) }]);
  });

  test("what the API only let wait goes under the row's own name, and then to no action of another name", async () => {
    const team = await createApiTeam(db.sql, name(), owner, { actions: otherName });
    const sealed = await sealLead(db.sql, team);
    const wait = { outcome: "RETRY", category: "RATE_LIMIT", code: "RATE_LIMIT" } as const; // 429: Google has nothing of it
    const claim = await claimForWorker(db.sql, team, { at: minutesLater(1) });
    await settleClaim(db.sql, team, claim, wait, { at: minutesLater(2), batch: { outcome: "transient" } });
    await switchDelivery(db.sql, team, "script");
    const { rows } = await claimForScript(db.sql, team, [sealed.id], minutesLater(60)); // uploaded; no answer came
    expect(rows).toMatchObject([{ conversionName: defaultNames.seal }]);
    await recover(80);
    await switchDelivery(db.sql, team, "api");
    expect((await claimForWorker(db.sql, team, { at: minutesLater(81) })).rows).toEqual([]);
    const { rows: shown } = await listRows(db.sql, team, { status: "RETRY" }, { at: minutesLater(81) });
    expect(shown).toMatchObject([{ waitsFor: "ACTION" }]);
  });
});

// Guarantee: a cancelled sale does not count for ever because nobody looked where it is.
describe("an adjustment of what a script sent", () => {
  const notFound = { outcome: "RETRY", category: "TRANSIENT", code: "CONVERSION_NOT_FOUND" } as const;
  const lookedFor = async (team: Team) => {
    for (let hours = 26; hours < 26 + 5 * 7; hours += 7) {
      const claim = await claimForWorker(db.sql, team, { at: minutesLater(hours * 60) });
      expect(claim.rows).toMatchObject([{ kind: "RETRACT" }]);
      await settleClaim(db.sql, team, claim, notFound, { at: minutesLater(hours * 60 + 1) });
    }
  };

  // Mutations that break it: drop may_be_under_another from end_claims; its look at what a script was handed, or at the dispatch's action.
  test.each(["without an answer", "and acknowledged"])("%s is a person's work when the API does not find it", async (answer) => {
    const team = await createQueueTeam(db.sql, name(), owner);
    const sealed = await sealLead(db.sql, team);
    await claimForScript(db.sql, team, [sealed.id], minutesLater(1));
    if (answer === "without an answer") await recover(20);
    else await service(db.sql, "ack_offline_conversions", { p_site_id: team.siteUuid, p_ids: [sealed.id] }, minutesLater(20));
    await connectApi(db.sql, team, { actions: otherName, at: minutesLater(21) });
    await switchDelivery(db.sql, team, "api");
    await cancel(team, sealed, 22);
    await lookedFor(team);
    const retraction = await retractionOf(sealed);
    expect(retraction).toMatchObject({ status: "RETRY", by_hand_reason: "SENT_BY_SCRIPT", next_retry_at: null });
    expect(await markDone(team, retraction?.id, days(4))).toMatchObject({ ok: true });
  });

  test("is not taken for disproved where the API's action was looked under, too", async () => {
    const team = await createQueueTeam(db.sql, name(), owner);
    const sealed = await sealLead(db.sql, team);
    await claimForScript(db.sql, team, [sealed.id], minutesLater(1));
    await recover(20);
    await connectApi(db.sql, team, { at: minutesLater(21) }); // Google did not say what the action is called
    await switchDelivery(db.sql, team, "api");
    expect((await claimForWorker(db.sql, team, { at: minutesLater(22) })).rows).toHaveLength(1);
    await recover(40);
    await cancel(team, sealed, 41);
    await lookedFor(team);
    expect(await retractionOf(sealed)).toMatchObject({ by_hand_reason: "SENT_BY_SCRIPT" });
  });

  // Mutation that breaks it: let sendable_queue or hand_out look for the row's own name alone.
  test("under an earlier name goes to the action of sales, which is what the dry run asks about", async () => {
    const team = await createQueueTeam(db.sql, name(), owner);
    const sealed = await sealLead(db.sql, team);
    await claimForScript(db.sql, team, [sealed.id], minutesLater(1));
    await service(db.sql, "ack_offline_conversions", { p_site_id: team.siteUuid, p_ids: [sealed.id] }, minutesLater(2));
    await deliverySettings(db.sql, team, { conversionNames: { seal: "New name" } });
    await connectApi(db.sql, team, { actions: [{ conversionName: "New name", action: actionOf(1) }], at: minutesLater(21) });
    await switchDelivery(db.sql, team, "api");
    await cancel(team, sealed, 22);
    const retraction = await retractionOf(sealed);
    const asked = await service(db.sql, "conversion_job", { p_site_id: team.siteUuid, p_id: retraction?.id }, minutesLater(days(3)));
    expect(asked).toMatchObject({ conversionName: defaultNames.seal, conversionAction: actionOf(1), isChosenAction: false });
    expect(await listGroups(db.sql, minutesLater(days(3)), [team.siteUuid])).toMatchObject([{ queued_count: 1 }]);
    expect((await claimForWorker(db.sql, team, { at: minutesLater(days(3)) })).rows).toMatchObject([
      { id: retraction?.id, conversionAction: actionOf(1) },
    ]);
  });
});

describe("under a name that has no conversion action any more", () => {
  const sentThenRenamed = async (isAnswered: boolean) => {
    const team = await createApiTeam(db.sql, name(), owner);
    const sealed = await sealLead(db.sql, team);
    const claim = await claimForWorker(db.sql, team, { at: minutesLater(1) });
    const sent = { outcome: "COMPLETED", requestId: sealed.saleId, recordIndex: 0 } as const;
    if (isAnswered) {
      await settleClaim(db.sql, team, claim, sent, { at: minutesLater(2), batch: { outcome: "success" } });
      await recordVerdict(db.sql, team, sealed.saleId, "CONFIRMED", minutesLater(40));
    } else await recover(40);
    await deliverySettings(db.sql, team, { conversionNames: { seal: "New name" } });
    await callAs(db.sql, team.owner, (tx) => tx`select public.disconnect_provider(${team.siteId})`);
    await connectApi(db.sql, team, { actions: [{ conversionName: "New name", action: actionOf(2) }], at: minutesLater(50) });
    return { team, sealed };
  };

  // Guarantee: a sale that was cancelled stops counting, whatever became of the name it was sent under.
  // Mutation that breaks it: ask for a line of the row's name although the row has its action.
  test("an adjustment goes to the action that it left for", async () => {
    const { team, sealed } = await sentThenRenamed(true);
    await cancel(team, sealed, 60);
    expect((await claimForWorker(db.sql, team, { at: minutesLater(days(3)) })).rows).toMatchObject([
      { kind: "RETRACT", conversionAction: actionOf(1) },
    ]);
  });

  test("so does a conversion that may be there", async () => {
    const { team, sealed } = await sentThenRenamed(false);
    const { rows: shown } = await listRows(db.sql, team, { status: "RETRY" }, { at: minutesLater(60) });
    expect(shown).toMatchObject([{ id: sealed.id, waitsFor: null }]);
    expect((await claimForWorker(db.sql, team, { at: minutesLater(60) })).rows).toMatchObject([
      { id: sealed.id, conversionAction: actionOf(1) },
    ]);
  });

  // Mutation that breaks it: drop the look at blocked lines of the action from sendable_queue.
  test("unless Google refuses that action", async () => {
    const { team, sealed } = await sentThenRenamed(true);
    await connectApi(db.sql, team, { actions: [{ conversionName: "New name", action: actionOf(1) }], at: minutesLater(61) });
    await sealLead(db.sql, team, { at: minutesLater(62) });
    const claim = await claimForWorker(db.sql, team, { at: minutesLater(63) });
    const refused = { outcome: "FAILED", category: "VALIDATION", code: "NO_CONVERSION_ACTION_FOUND" } as const;
    const blockActions = [{ conversionName: "New name", code: refused.code }];
    await settleClaim(db.sql, team, claim, refused, { at: minutesLater(64), batch: { outcome: "definite", blockActions } });
    await cancel(team, sealed, 65);
    expect((await claimForWorker(db.sql, team, { at: minutesLater(days(3)) })).rows).toEqual([]);
    const { rows: shown } = await listRows(db.sql, team, { kind: "RETRACT" }, { at: minutesLater(days(3)) });
    expect(shown).toMatchObject([{ waitsFor: "ACTION" }]);
  });

  // Guarantee: who can choose the action learns that conversions wait for it.
  // Mutation that breaks it: missing_actions without the names of waiting rows.
  test("a conversion that a script may have uploaded waits, and the owner is asked for an action of that name", async () => {
    const team = await createQueueTeam(db.sql, name(), owner);
    const sealed = await sealLead(db.sql, team);
    await claimForScript(db.sql, team, [sealed.id], minutesLater(1));
    await recover(20);
    await deliverySettings(db.sql, team, { conversionNames: { seal: "New name" } });
    await connectApi(db.sql, team, { actions: [{ conversionName: "New name", action: actionOf(1) }], at: minutesLater(21) });
    const preview = await callAs(db.sql, team.owner, (tx) => tx`select public.preview_delivery_switch(${team.siteId}, 'api')`);
    expect(preview).toMatchObject({ missingActions: [defaultNames.seal] });
    await switchDelivery(db.sql, team, "api");
    expect((await claimForWorker(db.sql, team, { at: minutesLater(22) })).rows).toEqual([]);
    expect(await readStats(db.sql, team, minutesLater(22))).toMatchObject({ missingActions: [defaultNames.seal] });
    const both = ["New name", defaultNames.seal].map((conversionName, index) => ({ conversionName, action: actionOf(index + 1) }));
    await connectApi(db.sql, team, { actions: both, at: minutesLater(23) });
    expect(await readStats(db.sql, team, minutesLater(24))).toMatchObject({ missingActions: [] });
    expect((await claimForWorker(db.sql, team, { at: minutesLater(24) })).rows).toMatchObject([{ conversionAction: actionOf(2) }]);
  });
});
