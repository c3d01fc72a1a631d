import { createHash } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { keyRing } from "#lib/vault/secret.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { makeCallSecret } from "#tests/fixtures/site.ts";
import { createTeam, type Person, type Team } from "#tests/fixtures/team.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

interface MadeKey {
  id: string;
  key: string;
  prefix: string;
}

let db: TestDatabase;
let team: Team;
let other: Team;

beforeAll(async () => {
  db = await createTestDatabase();
  team = await createTeam(db.sql, "keys");
  other = await createTeam(db.sql, "other", team.owner);
});
afterAll(() => db.drop());

const makeKey = (person = team.owner) =>
  callAs<MadeKey>(db.sql, person, (tx) => tx`select public.create_site_api_key(${team.siteId}, 'Script')`);
const hash = (key: string) => createHash("sha256").update(key).digest("hex");
const authenticate = async (key: string) => (await db.sql`select public.authenticate_api_key(${hash(key)}, '{script}') as site`)[0]?.site;
const revoke = (keyId: string, siteId = team.siteId) =>
  callAs(db.sql, team.owner, (tx) => tx`select public.revoke_site_api_key(${siteId}, ${keyId})`);

// Guarantee: a stolen copy of the database lets nobody in.
test("a key is shown once and stored only as its hash", async () => {
  const made = await makeKey();
  expect(made.key).toMatch(/^om_[0-9a-f]{48}$/);
  expect(made.key.startsWith(made.prefix)).toBe(true);
  const [dump] = await db.sql`select to_jsonb(k)::text as row from public.site_api_keys k where id = ${made.id}`;
  expect(dump?.row).not.toContain(made.key.slice(11));
  const listed = await callAs(db.sql, team.owner, (tx) => tx`select public.list_site_api_keys(${team.siteId})`);
  expect(JSON.stringify(listed)).not.toContain(hash(made.key));
});

test("a live key speaks for its site; a wrong, revoked or archived one for nobody", async () => {
  const made = await makeKey();
  expect(await authenticate(made.key)).toMatchObject({ siteUuid: team.siteUuid, siteId: team.siteId, keyId: made.id });
  expect(await authenticate(`${made.key.slice(0, -1)}x`)).toBeNull();
  await callAs(db.sql, team.owner, (tx) => tx`select public.set_site_archived(${team.siteId}, true)`);
  expect(await authenticate(made.key)).toBeNull();
  await callAs(db.sql, team.owner, (tx) => tx`select public.set_site_archived(${team.siteId}, false)`);
  await revoke(made.id);
  expect(await authenticate(made.key)).toBeNull();
  const [byId] = await db.sql`select public.api_key_site(${made.id}) as site`;
  expect(byId?.site).toBeNull();
});

test("revoking twice keeps the first time; another site's key is not found", async () => {
  const made = await makeKey();
  await expect(revoke(made.id, other.siteId)).rejects.toMatchObject({ message: "NOT_FOUND" });
  await revoke(made.id);
  const revokedAt = async () => (await db.sql`select revoked_at::text as at from public.site_api_keys where id = ${made.id}`)[0]?.at;
  const first = await revokedAt();
  await revoke(made.id);
  expect(await revokedAt()).toBe(first);
});

test("only owners make keys, and at most twenty live ones", async () => {
  for (const person of [team.operator, team.viewer]) await expect(makeKey(person)).rejects.toMatchObject({ message: "FORBIDDEN" });
  const [row] =
    await db.sql`select count(*)::int as live from public.site_api_keys where site_id = ${team.siteUuid} and revoked_at is null`;
  for (let live = Number(row?.live); live < 20; live++) await makeKey();
  await expect(makeKey()).rejects.toMatchObject({ message: "TOO_MANY" });
});

test("the call-event secret is made by owners, and only its dates can be read back", async () => {
  const read = (person: Person) =>
    callAs<Record<string, unknown>>(db.sql, person, (tx) => tx`select public.call_event_secret(${other.siteId})`);
  expect(await read(other.owner)).toEqual({ madeAt: null, previousUntil: null });
  const ring = keyRing({ OPSMANTIK_VAULT_KEY: Buffer.alloc(32, "k").toString("base64") });
  await makeCallSecret(db.sql, other, { ring });
  expect(await read(other.owner)).toEqual({ madeAt: expect.any(String), previousUntil: null });
  await makeCallSecret(db.sql, other, { ring });
  expect(await read(other.owner)).toEqual({ madeAt: expect.any(String), previousUntil: expect.any(String) });
  await expect(read(other.operator)).rejects.toMatchObject({ message: "FORBIDDEN" });
  await expect(makeCallSecret(db.sql, { ...other, owner: other.operator }, { ring })).rejects.toMatchObject({ message: "FORBIDDEN" });
});
