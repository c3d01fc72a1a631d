import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PATCH as contactRoute } from "#app/api/sites/[siteId]/calls/[callId]/route.ts";
import { activityPage } from "#lib/contracts/activity.ts";
import { leadDetail } from "#lib/leads/desk-shapes.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { vouchedCallers } from "#tests/fixtures/callers.ts";
import { change, newLead } from "#tests/fixtures/leads.ts";
import { service } from "#tests/fixtures/service.ts";
import { createTeam, type Person, type Team } from "#tests/fixtures/team.ts";
import { useAppEnv as setAppEnv } from "#tests/support/app-env.ts";
import { cookiesOf, fromOurPage, send } from "#tests/support/requests.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";
import { startTestGateway, type TestGateway } from "#tests/support/test-gateway.ts";

let db: TestDatabase;
let gateway: TestGateway;
let team: Team;
beforeAll(async () => {
  db = await createTestDatabase();
  gateway = await startTestGateway(db.adminUrl);
  setAppEnv({ database: db, gateway });
  team = await createTeam(db.sql, "contacts");
});
afterAll(async () => {
  await gateway.stop();
  await db.drop();
});

const lead = async (id: string, person: Person = team.operator) =>
  leadDetail.parse(await callAs(db.sql, person, (tx) => tx`select public.desk_lead(${team.siteId}, ${id})`));
const describeLead = (id: string, contact: Record<string, unknown>) =>
  callAs(db.sql, team.operator, (tx) => tx`select public.set_lead_contact(${team.siteId}, ${id}, ${tx.json(contact as never)})`);
const note = (id: string, text: string) =>
  callAs(db.sql, team.operator, (tx) => tx`select public.add_lead_note(${team.siteId}, ${id}, ${text})`);
const activity = async (person: Person) =>
  activityPage.parse(await callAs(db.sql, person, (tx) => tx`select public.list_activity(${team.siteId})`));
const whatsapp = () => newLead(db.sql, team, { action: "whatsapp" });

describe("name and number", () => {
  // Guarantee: who writes to the shop has a name for those who answer, and for nobody else. Mutation: lead_json without readable_note.
  test("are shown to operators; viewers see neither the name nor the note, nor the proof what was written", async () => {
    const id = await whatsapp();
    await describeLead(id, { name: " Zeynep Kara ", phone: "0532 555 41 07" });
    await note(id, "Wants the quiet model");
    expect(await lead(id)).toMatchObject({ name: "Zeynep Kara", fullPhone: "+905325554107", dialNumber: "+905325554107" });
    const seen = await lead(id, team.viewer);
    expect(seen).toMatchObject({ name: null, fullPhone: null, dialNumber: null, phone: "+90 532 ••• 41 07" });
    expect(JSON.stringify(seen) + JSON.stringify(await activity(team.viewer))).not.toMatch(/Zeynep|quiet model/);
    expect((await activity(team.operator)).entries.slice(0, 2)).toMatchObject([
      { kind: "note", note: "Wants the quiet model" },
      { kind: "contact", note: null },
    ]);
    const proofs =
      await db.sql`select facts from public.transition_proofs where entity_id = ${id} and contract = 'lead' order by occurred_at`;
    expect(proofs.map(({ facts }) => facts)).toEqual([{ fields: ["name", "phone"] }, {}]);
  });

  test("left out stay, empty go, and the same again leaves no line", async () => {
    const id = await whatsapp();
    await describeLead(id, {
      name: "Zeynep",
      phone: "+905325554108",
      caller: (await vouchedCallers(db.sql, team.siteId, "+905325554108"))[0],
    });
    await describeLead(id, { name: "Zeynep" });
    await describeLead(id, { phone: "" });
    expect(await lead(id)).toMatchObject({ name: "Zeynep", fullPhone: null });
    const [row] = await db.sql`select caller_hash, caller_key_id from public.calls where id = ${id}`;
    expect(row).toMatchObject({ caller_hash: null, caller_key_id: null });
    expect((await lead(id)).history.map(({ to }) => to)).toEqual(["contact", "contact"]);
  });

  test.each([
    ["a number that is none", { phone: "12" }, "phone"],
    ["a name with a hidden sign", { name: "Zey\u202enep" }, "name"],
    ["a name that is too long", { name: "x".repeat(81) }, "name"],
  ])("%s is refused with its field", async (_what, contact, field) => {
    const refused = describeLead(await whatsapp(), contact);
    await expect(refused).rejects.toMatchObject({ code: "PT400", detail: expect.stringContaining(field) });
  });

  // Guarantee: nothing personal is written where nobody would find it to erase it. Mutation: lead_to_describe without the check.
  test("cannot be added to an erased lead, nor can a note", async () => {
    const id = await newLead(db.sql, team, { visitor: "gone" });
    const asked = { kind: "visitor", value: "gone" };
    await callAs(db.sql, team.owner, (tx) => tx`select public.erase_person(${team.siteId}, ${tx.json(asked)}, null)`);
    expect((await lead(id)).isErased).toBe(true);
    for (const write of [describeLead(id, { name: "Zeynep" }), note(id, "x")])
      await expect(write).rejects.toMatchObject({ message: expect.stringContaining("LEAD_ERASED") });
  });
});

// Guarantee: operators see that the caller of today wrote last week. Mutations: leads_of_person without the number; the switchboard's rule.
describe("leads of one person", () => {
  const route = async (callId: string, body: unknown) =>
    send(contactRoute, {
      method: "PATCH",
      params: { siteId: team.siteId, callId },
      body,
      headers: fromOurPage(await cookiesOf(gateway, team.operator)),
    });

  test("are found by the number, typed on one and reported for the other", async () => {
    const phone = "+905321112233";
    const called = await newLead(db.sql, team, { phone });
    const wrote = await whatsapp();
    expect((await route(wrote, { phone: "0532 111 22 33" })).status).toBe(200);
    expect((await lead(wrote)).siblings.map(({ id }) => id)).toEqual([called]);
    expect((await lead(called)).siblings.map(({ id }) => id)).toEqual([wrote]);
  });

  test("are found by the visitor, newest first, and not behind a switchboard", async () => {
    const ids = [];
    for (const days of [3, 2, 1])
      ids.push(await newLead(db.sql, team, { visitor: "back-again", at: new Date(Date.now() - days * 86_400_000) }));
    expect((await lead(String(ids[0]))).siblings.map(({ id }) => id)).toEqual([ids[2], ids[1]]);
    const [caller] = await vouchedCallers(db.sql, team.siteId, "+902121112233");
    const many = [];
    for (let made = 0; made < 22; made++) {
      const id = await whatsapp();
      await describeLead(id, { phone: "+902121112233", caller });
      many.push(id);
    }
    expect((await lead(String(many[0]))).siblings).toEqual([]);
  });
});

const retention = { eventsMonths: 13, personalMonths: 24, failedDays: 30, revokedKeysDays: 365 };

// Guarantee: what was written of a person goes with the lead, however lately it was written. Mutation: leave the notes out of forget_old_calls.
test("name and notes are forgotten with the lead's other personal data", async () => {
  const id = await newLead(db.sql, team, { at: new Date(Date.now() - 800 * 86_400_000) });
  await describeLead(id, { name: "Zeynep Eski" });
  await note(id, "Zeynep Eski rang again");
  await change(db.sql, { team }, "change_call", { id, to: "qualified", reason: "Zeynep Eski is in earnest" });
  const notes = () => db.sql`select from private.proof_notes where note like '%Zeynep Eski%'`;
  expect(await notes()).toHaveLength(2);
  await service(db.sql, "run_retention", { p_periods: retention });
  const [row] = await db.sql`select contact_name from public.calls where id = ${id}`;
  expect(row?.contact_name).toBeNull();
  expect(await notes()).toHaveLength(0);
});

test("a note does not stand in the way of an undo", async () => {
  const id = await whatsapp();
  await change(db.sql, { team }, "seal_call", { id, amountCents: 100_00 });
  await note(id, "Paid in cash");
  expect((await change(db.sql, { team }, "undo_call", { id })).status).toBe(200);
});
