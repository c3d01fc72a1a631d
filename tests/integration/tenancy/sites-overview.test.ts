import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import type { readSitesOverview } from "#lib/tenancy/sites-overview.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { connectApi } from "#tests/fixtures/connections.ts";
import { change, newLead } from "#tests/fixtures/leads.ts";
import { createQueueTeam } from "#tests/fixtures/queue-team.ts";
import { pauseSending } from "#tests/fixtures/site.ts";
import { createPerson, createTeam, handOver, join, type Person, type Team } from "#tests/fixtures/team.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

let db: TestDatabase;
let team: Team;
beforeAll(async () => {
  db = await createTestDatabase();
  team = await createTeam(db.sql, "overview");
});
afterAll(() => db.drop());

/** Noon in Istanbul. */
const now = new Date("2026-11-16T09:00:00Z");
const hoursAgo = (hours: number) => new Date(now.getTime() - hours * 3_600_000);
const overview = (person: Person) =>
  callAs<Awaited<ReturnType<typeof readSitesOverview>>>(db.sql, person, (tx) => tx`select public.sites_overview()`, now);
const figuresOf = async (on: Team, person = on.viewer) => (await overview(person)).find(({ siteId }) => siteId === on.siteId);

// Guarantee: an agency sees which of its sites needs somebody without opening them. Mutations: today in UTC; skipped rows as failed.
test("says of each site what came, what was sealed, what waits and what needs somebody", async () => {
  const sealed = await newLead(db.sql, team, { at: hoursAgo(3) });
  await change(db.sql, { team }, "seal_call", { id: sealed, amountCents: 250_000 }, { at: hoursAgo(2) });
  await newLead(db.sql, team, { at: hoursAgo(13) }); // yesterday in Istanbul
  await newLead(db.sql, team, { at: hoursAgo(72) });
  const figures = await figuresOf(team);
  expect(figures).toMatchObject({ leadsToday: 1, waiting: 1, failed: 0, needsYou: 1, health: { way: "script", code: "NO_KEY" } });
  expect(figures?.sealedByDay).toEqual([...Array.from({ length: 13 }, () => 0), 250_000]);
  expect(figures?.lastEventAt).not.toBeNull();
});

test("says how the way to Google stands, the most urgent first", async () => {
  const api = await createQueueTeam(db.sql, "overview-api", team.owner, "api");
  const code = async () => (await figuresOf(api, team.owner))?.health.code;
  expect(await code()).toBe("NOT_CONNECTED");
  await connectApi(db.sql, api);
  expect(await code()).toBe("WELL");
  await db.sql`select private.block_connection(${api.siteUuid}, 'google_ads', 'invalid_grant', 'x')`;
  expect(await code()).toBe("BLOCKED");
  await pauseSending(db.sql, api, new Date(now.getTime() + 3_600_000), now);
  expect(await code()).toBe("PAUSED");
});

test("holds the caller's own open sites only", async () => {
  const stranger = await createPerson(db.sql, "stranger@overview.test");
  expect(await overview(stranger)).toEqual([]);
  const other = await createTeam(db.sql, "closed", team.owner);
  await callAs(db.sql, team.owner, (tx) => tx`select public.set_site_archived(${other.siteId}, true)`);
  expect(await figuresOf(other, team.owner)).toBeUndefined();
});

const found = z.object({
  leads: z.array(z.object({ id: z.string(), name: z.string().nullable() })),
  sales: z.array(z.object({ id: z.string(), rowId: z.string().nullable() })),
});
const search = async (text: string, person: Person = team.operator, first: string | null = team.siteId) =>
  found.parse(await callAs(db.sql, person, (tx) => tx`select public.search_sites(${text}, ${first})`));

// Guarantee: an operator on the phone finds the caller in a second, and a viewer finds out nothing that the screens hide.
test("the quick search finds leads by number and name, and sales by order", async () => {
  const id = await newLead(db.sql, team, { phone: "+905327654321" });
  await callAs(
    db.sql,
    team.operator,
    (tx) => tx`select public.set_lead_contact(${team.siteId}, ${id}, ${tx.json({ name: "Kemal Demir" })})`,
  );
  const { body } = await change(db.sql, { team }, "seal_call", { id, amountCents: 90_000 });
  const [sale] = await db.sql`select order_id from public.sales where id = ${String(body.saleId)}`;
  expect((await search("7654321")).leads).toEqual([{ id, name: "Kemal Demir" }]);
  expect((await search("demir")).leads.map((lead) => lead.id)).toEqual([id]);
  expect((await search(String(sale?.order_id))).sales).toEqual([{ id: body.saleId, rowId: expect.any(String) }]);
  expect((await search("demir", team.viewer)).leads).toEqual([]);
  expect((await search("1119994321", team.viewer)).leads).toEqual([{ id, name: null }]); // four digits, whatever comes before
  for (const name of ["OCI Işık", "oci ışık", "İnci"]) {
    await callAs(db.sql, team.operator, (tx) => tx`select public.set_lead_contact(${team.siteId}, ${id}, ${tx.json({ name })})`);
    const written = name === "İnci" ? ["inci", "INCI", "ınCİ"] : ["oci", "OCI", "OCİ", "ocı", "IŞIK", "işik"];
    for (const text of written) expect([text, (await search(text)).leads.length]).toEqual([text, 1]);
  }
  await expect(search("d")).rejects.toMatchObject({ code: "PT400" });
});

// Guarantee: an agency finds a caller whichever site they reached, and nobody finds one of a site that is not theirs.
// Mutations: no order by the site in view; a role of one site counted on another.
test("the quick search finds leads and orders on every site of the reader, the site in view first", async () => {
  const second = await createTeam(db.sql, "overview-second", team.owner);
  const theirs = await handOver(db.sql, await createTeam(db.sql, "overview-theirs", team.owner), "owner@overview-theirs.test");
  const phone = "+905328887766";
  const hours = { here: 30, second: 1, theirs: 2 };
  const here = await newLead(db.sql, team, { phone, at: hoursAgo(hours.here) });
  const there = await newLead(db.sql, second, { phone, at: hoursAgo(hours.second) });
  const hidden = await newLead(db.sql, theirs, { phone, at: hoursAgo(hours.theirs) });
  const idsOf = async (...asked: Parameters<typeof search>) => (await search(...asked)).leads.map(({ id }) => id);
  expect(await idsOf("8887766", team.owner)).toEqual([here, there]);
  expect(await idsOf("8887766", team.owner, second.siteId)).toEqual([there, here]);
  expect(await idsOf("8887766", team.owner, null), "no site in view: newest first").toEqual([there, here]);
  expect(await idsOf("8887766", theirs.owner, team.siteId), "a site that is not theirs, named").toEqual([hidden]);
  const { body } = await change(db.sql, { team: second }, "seal_call", { id: there, amountCents: 90_000 });
  const [sale] = await db.sql`select order_id from public.sales where id = ${String(body.saleId)}`;
  expect((await search(String(sale?.order_id), team.owner)).sales.map(({ id }) => id)).toEqual([body.saleId]);
  expect((await search(String(sale?.order_id), theirs.owner)).sales).toEqual([]);
  await callAs(
    db.sql,
    second.operator,
    (tx) => tx`select public.set_lead_contact(${second.siteId}, ${there}, ${tx.json({ name: "Nermin Uysal" })})`,
  );
  await join(db.sql, second, team.operator, "viewer");
  expect(await idsOf("nermin", team.operator), "an operator here is a viewer there").toEqual([]);
  await callAs(db.sql, team.owner, (tx) => tx`select public.set_site_archived(${second.siteId}, true)`);
  expect(await idsOf("8887766", team.owner)).toEqual([here]);
});
