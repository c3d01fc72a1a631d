import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { callAs } from "#tests/fixtures/act-as.ts";
import { connectApi } from "#tests/fixtures/connections.ts";
import { newLead } from "#tests/fixtures/leads.ts";
import { type Sealed, sealLead } from "#tests/fixtures/queue.ts";
import { createKey } from "#tests/fixtures/site.ts";
import { createTeam, type Person, type Team } from "#tests/fixtures/team.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

/** Members who call functions themselves, past the app: they have a session and the publishable key. */

let db: TestDatabase;
let team: Team;
let other: Team;
let foreign: Sealed;
let own: Sealed;
beforeAll(async () => {
  db = await createTestDatabase();
  team = await createTeam(db.sql, "insiders");
  other = await createTeam(db.sql, "neighbours", team.owner);
  own = await sealLead(db.sql, team, { at: new Date(Date.now() - 60_000) });
  foreign = await sealLead(db.sql, other, { at: new Date(Date.now() - 60_000) });
});
afterAll(() => db.drop());

const hash = "a".repeat(64);
type Tx = Parameters<Parameters<typeof callAs>[2]>[0];
const as = <T = unknown>(person: Person, run: (tx: Tx) => ReturnType<Parameters<typeof callAs>[2]>) => callAs<T>(db.sql, person, run);
const refusal = async (person: Person, run: (tx: Tx) => ReturnType<Parameters<typeof callAs>[2]>) =>
  as(person, run).then(
    (answer) => answer,
    (error: { message: string }) => error.message,
  );

describe("a viewer who searches for what is hidden", () => {
  const secret = "quietmodel";
  beforeAll(async () => {
    const id = await newLead(db.sql, team, { phone: "+905327654321" });
    await as(team.operator, (tx) => tx`select public.set_lead_contact(${team.siteId}, ${id}, ${tx.json({ name: "Zeynep Kara" })})`);
    await as(team.operator, (tx) => tx`select public.add_lead_note(${team.siteId}, ${id}, ${`wants the ${secret}`})`);
    await as(
      team.operator,
      (tx) => tx`select public.seal_call(${team.siteId}, ${tx.json({ id, amountCents: 500, note: secret })}, ${hash})`,
    );
  });
  const found = async (person: Person, run: (tx: Tx) => ReturnType<Parameters<typeof callAs>[2]>) => JSON.stringify(await as(person, run));

  // Guarantee: a search tells a viewer no more than the screen does: no letter of a note or a name, no hidden digit.
  test.each<[string, (tx: Tx) => ReturnType<Parameters<typeof callAs>[2]>, string]>([
    ["notes of sales", (tx) => tx`select public.list_sales(${team.siteId}, ${tx.json({ q: secret })})`, "500"],
    ["notes of the activity log", (tx) => tx`select public.list_activity(${team.siteId}, ${tx.json({ q: secret })})`, "noted"],
    ["names of leads", (tx) => tx`select public.search_sites('zeynep', ${team.siteId})`, "43 21"],
    ["names of sales", (tx) => tx`select public.list_sales(${team.siteId}, ${tx.json({ q: "zeynep" })})`, "500"],
  ])("finds nothing by %s, where an operator does", async (_what, search, sign) => {
    expect(await found(team.operator, search)).toContain(sign);
    expect(await found(team.viewer, search)).not.toContain(sign);
  });

  test.each<[string, (tx: Tx, digits: string) => ReturnType<Parameters<typeof callAs>[2]>]>([
    ["the quick search", (tx, digits) => tx`select public.search_sites(${digits}, ${team.siteId})`],
    ["the queue", (tx, digits) => tx`select public.queue_rows(${team.siteId}, 5, ${tx.json({ q: digits })})`],
    ["the sales", (tx, digits) => tx`select public.list_sales(${team.siteId}, ${tx.json({ q: digits })})`],
  ])("learns no hidden digit from %s", async (_where, search) => {
    const strip = (text: string) => text.replace(/"(asOf|at|now|version)":"[^"]*"/g, "");
    const right = strip(await found(team.viewer, (tx) => search(tx, "27654321")));
    const wrong = strip(await found(team.viewer, (tx) => search(tx, "99994321")));
    expect(right).toBe(wrong);
  });
});

describe("a viewer who asks for too much at once", () => {
  const huge = 2_147_483_647;
  test.each<[string, (tx: Tx) => ReturnType<Parameters<typeof callAs>[2]>]>([
    ["rows of the queue", (tx) => tx`select public.queue_rows(${team.siteId}, 5, '{}', null, ${huge})`],
    ["leads", (tx) => tx`select public.desk_leads(${team.siteId}, ${tx.json({ limit: huge })})`],
    ["sales", (tx) => tx`select public.list_sales(${team.siteId}, ${tx.json({ limit: huge })})`],
    ["acts", (tx) => tx`select public.list_activity(${team.siteId}, ${tx.json({ limit: huge })})`],
    ["counted events", (tx) => tx`select public.list_counted_events(${team.siteId}, null, null, ${huge})`],
    ["days of figures", (tx) => tx`select public.desk_figures(${team.siteId}, ${huge})`],
    ["fewer days than none", (tx) => tx`select public.desk_figures(${team.siteId}, ${-huge})`],
    ["a delivery report of all time", (tx) => tx`select public.delivery_days(${team.siteId}, '-infinity', 'infinity')`],
    ["a delivery report without an end", (tx) => tx`select public.delivery_days(${team.siteId}, '2026-11-01', 'infinity')`],
    ["a month that is none", (tx) => tx`select public.list_counted_events(${team.siteId}, '999999999-13')`],
    ["an export of everything", (tx) => tx`select public.preview_export_page(${team.siteId}, ${huge}, ${huge})`],
    ["an export of less than nothing", (tx) => tx`select public.preview_export_page(${team.siteId}, ${-huge}, ${-huge})`],
    ["a pause without an end", (tx) => tx`select public.preview_pause(${team.siteId}, 'infinity')`],
    ["charts of a span that is none", (tx) => tx`select public.queue_charts(${team.siteId}, 'x')`],
    ["a search of wildcards", (tx) => tx`select public.search_sites(${"%_".repeat(40)}, ${team.siteId})`],
    ["a filter that is no filter", (tx) => tx`select public.queue_rows(${team.siteId}, 5, '{"1=1; drop table x": 1}')`],
    ["an order of its own", (tx) => tx`select public.queue_rows(${team.siteId}, 5, '{"sort": "q.id; --"}')`],
    ["a deep filter", (tx) => tx`select public.desk_leads(${team.siteId}, ${`${"[".repeat(500)}${"]".repeat(500)}`}::jsonb)`],
  ])("%s: is refused, or answered with no more than a page", async (_what, ask) => {
    expect(JSON.stringify(await refusal(team.viewer, ask)).length).toBeLessThan(200_000);
  });
});

describe("an operator who names what is another site's", () => {
  const change = (name: string, args: object) => (tx: Tx) =>
    tx`select public.${tx(name)}(${team.siteId}, ${tx.json(args as never)}, ${hash})`;
  test.each<[string, (tx: Tx) => ReturnType<Parameters<typeof callAs>[2]>]>([
    ["seals their lead", (tx) => change("seal_call", { id: foreign.callId, amountCents: 1 })(tx)],
    ["moves their lead", (tx) => change("change_call", { id: foreign.callId, to: "junk" })(tx)],
    ["undoes their step", (tx) => change("undo_call", { id: foreign.callId })(tx)],
    ["corrects their sale", (tx) => change("correct_sale", { id: foreign.saleId, amountCents: 1 })(tx)],
    ["cancels their sale", (tx) => change("cancel_sale", { id: foreign.saleId })(tx)],
    ["confirms their sale", (tx) => change("confirm_sale", { id: foreign.saleId })(tx)],
    ["describes their lead", (tx) => tx`select public.set_lead_contact(${team.siteId}, ${foreign.callId}, '{"name": "x"}')`],
    ["writes on their lead", (tx) => tx`select public.add_lead_note(${team.siteId}, ${foreign.callId}, 'x')`],
    ["sends their row again", (tx) => tx`select public.send_again(${team.siteId}, ${foreign.id})`],
    [
      "enters their adjustment",
      (tx) => tx`select public.complete_adjustment_by_hand(${team.siteId}, ${tx.json({ id: foreign.id, valueCents: 1 })})`,
    ],
    ["reads their row's story", (tx) => tx`select public.queue_row_story(${team.siteId}, ${foreign.id}, 5)`],
    ["reads their lead", (tx) => tx`select public.desk_lead(${team.siteId}, ${foreign.callId})`],
    ["asks why their sale is not counted", (tx) => tx`select public.why_not_counted(${team.siteId}, ${foreign.saleId})`],
    [
      "moves it by contract",
      (tx) => tx`select public.transition_contract(${tx.json({ contract: "sale", id: foreign.saleId, to: "CANCELED" })}, 'k', ${hash})`,
    ],
  ])("%s: not found, and nothing changes", async (_what, act) => {
    const state = () => db.sql`select (select to_jsonb(c) from public.calls c where c.id = ${foreign.callId}) as call,
      (select to_jsonb(s) from public.sales s where s.id = ${foreign.saleId}) as sale,
      (select count(*) from public.transition_proofs) as proofs`;
    const before = await state();
    const answer = await refusal(team.operator, act);
    expect(JSON.stringify(answer)).toMatch(/NOT_FOUND|NOTHING_TO_UNDO|^null$/);
    expect(await state()).toEqual(before);
  });

  test("acts on their rows among its own: they are left out", async () => {
    const [key, action] = [randomUUID(), { action: "MARK_FAILED", ids: [foreign.id], reason: "mine now" }];
    const answer = await refusal(
      team.operator,
      (tx) => tx`select public.act_on_queue(${team.siteId}, ${tx.json(action)}, ${hash}, ${key})`,
    );
    expect(JSON.stringify(answer)).not.toContain(foreign.saleId);
    const [row] = await db.sql`select status from public.offline_conversion_queue where id = ${foreign.id}`;
    expect(row?.status).toBe("QUEUED");
  });
});

describe("an operator who sends fields that no form has", () => {
  test.each([
    [
      "a site, an actor and a state",
      { site: "x", siteId: "x", actorId: randomUUID(), actorKind: "system", status: "CONFIRMED", matchedBy: "click" },
    ],
    ["a lead of its choice", { callId: "own", call_id: "own", siblingCallId: "own" }],
    ["a click's time and a delivery", { clickedAt: "2020-01-01", deliveryBlock: null, orderId: "mine", order_id: "mine", version: 9 }],
  ])("imports a sale with %s: it becomes a plain draft", async (_what, more) => {
    const line = { line: 2, externalRef: randomUUID(), occurredAt: new Date(Date.now() - 1000).toISOString(), amountCents: 100, ...more };
    const given = JSON.parse(JSON.stringify(line).replaceAll('"own"', JSON.stringify(own.callId)));
    await as(team.operator, (tx) => tx`select public.import_sales(${team.siteId}, ${tx.json([given])}, false)`);
    const [sale] =
      await db.sql`select status, site_id, call_id, sibling_call_id, version, order_id from public.sales where external_ref = ${line.externalRef}`;
    expect(sale).toMatchObject({ status: "DRAFT", site_id: team.siteUuid, call_id: null, sibling_call_id: null, version: 1 });
    expect(sale?.order_id).not.toBe("mine");
  });

  test("seals as somebody else, at another time, as an undo: the proof names the operator and now", async () => {
    const id = await newLead(db.sql, team);
    const seal = {
      id,
      amountCents: 100,
      actorKind: "system",
      actorId: team.owner.id,
      isUndo: true,
      at: "2020-01-01",
      site: other.siteUuid,
    };
    await as(team.operator, (tx) => tx`select public.seal_call(${team.siteId}, ${tx.json(seal)}, ${hash})`);
    const [proof] =
      await db.sql`select actor_kind, actor_id, site_id, facts ? 'undo' as undo, occurred_at > now() - interval '1 minute' as fresh
      from public.transition_proofs where entity_id = ${id} and to_state = 'sealed'`;
    expect({ ...proof }).toEqual({ actor_kind: "user", actor_id: team.operator.id, site_id: team.siteUuid, undo: false, fresh: true });
  });

  test.each([-1, 0, 1.5, 1e30, "NaN", "Infinity", "1e400", "٣"])("corrects a sale to %j: refused", async (amountCents) => {
    const correction = { id: own.saleId, amountCents };
    const answer = await refusal(team.operator, (tx) => tx`select public.correct_sale(${team.siteId}, ${tx.json(correction)}, ${hash})`);
    expect(typeof answer).toBe("string");
    const [sale] = await db.sql`select amount_cents::int as cents from public.sales where id = ${own.saleId}`;
    expect(sale?.cents).toBe(425_000);
  });
});

// Guarantee: a machine is answered for what it did itself. Mutation: answer_once without the person in the scope.
describe("an operator who takes a machine's key for the same request before it", () => {
  test.each(["with the hash of that request", "with another hash"])("%s: the machine's move is made and proved", async (how) => {
    const machine = await createKey(db.sql, team, ["contracts"]);
    const [id, decoy, key] = [await newLead(db.sql, team), await newLead(db.sql, team), `order-${randomUUID()}`];
    const [machines, operators] = ["b".repeat(64), how === "with another hash" ? hash : "b".repeat(64)];
    const junk = (callId: string) => ({ contract: "call", id: callId, to: "junk" });
    await as(team.operator, (tx) => tx`select public.transition_contract(${tx.json(junk(decoy))}, ${key}, ${operators})`);
    const [row] =
      await db.sql`select public.transition_contract_for_key(${machine.id}, ${db.sql.json(junk(id))}, ${key}, ${machines}) as answer`;
    expect(row?.answer).toMatchObject({ status: 200, replayed: false });
    const [call] = await db.sql`select status from public.calls where id = ${id}`;
    expect(call?.status).toBe("junk");
  });
});

// Guarantee: a colleague's page does not pay for a name. Mutation: clean the whole name before it is cut (1.9 s instead of milliseconds).
test("a member with a name of two million characters does not slow the team's page down", async () => {
  const name = (text: string, times: number) =>
    db.sql`update auth.users set raw_user_meta_data = jsonb_build_object('full_name', repeat(${text}, ${times})) where id = ${team.viewer.id}`;
  const list = () => as<{ members: { name: string }[] }>(team.owner, (tx) => tx`select public.list_site_members(${team.siteId})`);
  const fastest = async (run: () => PromiseLike<unknown>, rounds: number) => {
    const times: number[] = [];
    for (let index = 0; index < rounds; index++) {
      const begun = performance.now();
      await run();
      times.push(performance.now() - begun);
    }
    return Math.min(...times);
  };
  await name("x\u200b", 1_000_000);
  const cleaning = await fastest(
    () =>
      db.sql`select length(regexp_replace(raw_user_meta_data ->> 'full_name', '[\u200b-\u200f]', '', 'g')) from auth.users where id = ${team.viewer.id}`,
    2,
  );
  expect(await fastest(list, 5)).toBeLessThan(cleaning / 2);
  expect((await list()).members.map(({ name: shown }) => shown.length <= 80)).toEqual([true, true, true]);
});

test("a viewer finds no secret in what a connection says", async () => {
  const api = await createTeam(db.sql, "connected", team.owner, "api");
  await connectApi(db.sql, api, { sealed: "c2VhbGVkIHNlY3JldA==" });
  const text = JSON.stringify(await as(api.viewer, (tx) => tx`select public.provider_connection(${api.siteId})`));
  expect(text).not.toMatch(/c2VhbGVk|sealed|keyId|key_id/);
});
