import { afterAll, beforeAll, expect, test } from "vitest";
import { erasePerson } from "#lib/privacy/erase.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { connectApi } from "#tests/fixtures/connections.ts";
import { createPerson, join, type Person, type Team } from "#tests/fixtures/team.ts";
import { act } from "#tests/support/control.ts";
import { type IngestApp, type IngestSite, startIngestApp } from "#tests/support/ingest-app.ts";
import { sendingSite } from "#tests/support/lead-journey.ts";
import { leaveTraces, ownersDoor } from "#tests/support/person.ts";

let app: IngestApp;
let site: IngestSite & Team;
let mallory: Person;
let queueId = "";
let callId = "";

beforeAll(async () => {
  app = await startIngestApp({ worker: "asleep" });
  const shop = await sendingSite(app);
  mallory = await createPerson(app.db.sql, "mallory@renamed.test", { name: "Mallory" });
  await join(app.db.sql, shop, mallory, "owner");
  site = { ...shop, operator: mallory };
  const person = await leaveTraces(app, site);
  const failed = await act(
    app.db.sql,
    { action: "MARK_FAILED", ids: [person.queueId], reason: "Sold twice" },
    { team: site, at: new Date() },
  );
  expect(failed.body).toMatchObject({ affected: 1 });
  await erasePerson(ownersDoor(app, site, mallory), { kind: "visitor", value: "nobody-we-know" });
  await connectApi(app.db.sql, { ...site, owner: mallory });
  await app.db
    .sql`update auth.users set raw_user_meta_data = '{"full_name": "Owner"}', email = 'innocent@renamed.test' where id = ${mallory.id}`;
  queueId = person.queueId;
  callId = person.callId;
});
afterAll(() => app.stop());

const read = (call: Parameters<typeof callAs>[2]) => callAs<unknown>(app.db.sql, app.owner, call);

// Guarantee: nobody puts the blame on the owner by taking their name. Mutation: actor_name instead of actor_as_of in actor_json.
test.each([
  ["actions on the queue", () => read((tx) => tx`select public.list_queue_actions(${site.siteId})`)],
  ["a conversion's story", () => read((tx) => tx`select public.queue_row_story(${site.siteId}, ${queueId}, 5)`)],
  ["receipts of erasures", () => read((tx) => tx`select public.list_erasures(${site.siteId})`)],
])("somebody who takes the owner's name after the act stays in %s under the address of then", async (_name, story) => {
  const text = JSON.stringify(await story());
  expect(text).toContain('"name":"mallory@renamed.test"');
  for (const name of ["Owner", "Mallory", "innocent@"]) expect(text).not.toContain(`"name":"${name}`);
});

// Guarantee: nor on the desk, where colleagues read who sealed what. Mutation: display_name instead of actor_email in each of them.
test.each<[string, string, () => Promise<unknown>]>([
  ["the desk's list", "changedBy", () => read((tx) => tx`select public.desk_leads(${site.siteId}, ${tx.json({ view: "all" })})`)],
  ["a lead's history and ledger", "by", () => read((tx) => tx`select public.desk_lead(${site.siteId}, ${callId})`)],
  [
    "the refusal of a stale screen",
    "changedBy",
    async () => {
      const [row] = await app.db.sql`select private.last_change(c) as change from public.calls c where c.id = ${callId}`;
      return row?.change;
    },
  ],
  ["who connected Google Ads", "connectedBy", () => read((tx) => tx`select public.provider_connection(${site.siteId})`)],
])("somebody who takes the owner's name stays in %s under the address of then", async (_name, field, story) => {
  const text = JSON.stringify(await story());
  expect(text).toContain(`"${field}":"mallory@renamed.test"`);
  for (const name of ["Owner", "Mallory", "innocent"]) expect(text).not.toContain(`"${field}":"${name}`);
});

// Guarantee: an invitation says who asks by the address, not by the name that the sender chose. Mutation: display_name in list_my_sites.
test("somebody who calls themselves support invites under their own address", async () => {
  const guest = await createPerson(app.db.sql, "guest@renamed.test");
  await callAs(app.db.sql, mallory, (tx) => tx`select public.invite_site_member(${site.siteId}, 'guest@renamed.test', 'viewer')`);
  await app.db.sql`update auth.users set raw_user_meta_data = '{"full_name": "Google Support"}' where id = ${mallory.id}`;
  const mine = await callAs<{ invitations: unknown[] }>(app.db.sql, guest, (tx) => tx`select public.list_my_sites()`);
  expect(mine.invitations).toMatchObject([{ invitedBy: "innocent@renamed.test" }]);
});
