import { spawn } from "node:child_process";
import { once } from "node:events";
import type postgres from "postgres";
import { afterEach, beforeEach, expect, test } from "vitest";
import { credentialsPlace } from "#lib/providers/credentials.ts";
import type { SiteUuid } from "#lib/site.ts";
import { keyRing, openSecret, type SealedSecret, sealSecret } from "#lib/vault/secret.ts";
import { connectApi } from "#tests/fixtures/connections.ts";
import { createQueueTeam } from "#tests/fixtures/queue-team.ts";
import { service } from "#tests/fixtures/service.ts";
import { createPerson, type Person, type Team } from "#tests/fixtures/team.ts";
import { forceRace } from "#tests/support/force-race.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";
import { untilSomebodyWaits } from "#tests/support/while-open.ts";

const keyOf = (text: string) => Buffer.alloc(32, text).toString("base64");
const oldKey = { OPSMANTIK_VAULT_KEY: keyOf("old") };
const bothKeys = { OPSMANTIK_VAULT_KEY: keyOf("new"), OPSMANTIK_VAULT_KEY_PREVIOUS: keyOf("old") };
const older = keyRing(oldKey);
const ring = keyRing(bothKeys);

let db: TestDatabase;
let founder: Person;
let number = 0;
beforeEach(async () => {
  db = await createTestDatabase();
  founder = await createPerson(db.sql, "founder@rotate.test");
});
afterEach(() => db.drop());

/** A site whose credentials the old key sealed, connected by its owner. */
async function connectedTeam(sealed?: SealedSecret): Promise<Team> {
  const team = await createQueueTeam(db.sql, `rotate${++number}`, founder, "api");
  await connectApi(db.sql, team, sealed ?? sealSecret(`secret of ${team.siteUuid}`, credentialsPlace(team.siteUuid, "google_ads"), older));
  return team;
}

const stored = ({ siteUuid }: Team) =>
  service<SealedSecret & { version: number }>(db.sql, "provider_credentials_for", { p_site_id: siteUuid, p_provider_key: "google_ads" });

function startRotation(variables: Record<string, string> = bothKeys) {
  const child = spawn(process.execPath, ["scripts/vault-rotate.ts"], {
    env: { NODE_ENV: "test", DATABASE_URL: db.appUrl, ...variables },
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (chunk) => (output += chunk));
  const ended = once(child, "close").then(([code]) => ({ code: code as number | null, output }));
  return { child, ended };
}

test("every site's credentials are sealed with the current key and still open", async () => {
  const teams = [await connectedTeam(), await connectedTeam(), await connectedTeam()];
  const { code, output } = await startRotation().ended;
  expect({ code, output }).toMatchObject({ code: 0, output: expect.stringContaining("3 sealed again") });
  const onlyNew = keyRing({ OPSMANTIK_VAULT_KEY: bothKeys.OPSMANTIK_VAULT_KEY });
  for (const team of teams) {
    const row = await stored(team);
    expect(row).toMatchObject({ keyId: ring.current.id, version: 1 });
    expect(openSecret(row, credentialsPlace(team.siteUuid, "google_ads"), onlyNew)).toBe(`secret of ${team.siteUuid}`);
  }
  expect(await startRotation().ended).toMatchObject({ code: 0, output: expect.stringContaining("0 sealed again") });
});

// Guarantee: a rotation that dies half way has harmed nobody, and the next one ends it.
test("killed between two sites it leaves both readable, and a second run finishes", async () => {
  const teams = [await connectedTeam(), await connectedTeam()].toSorted((a, b) => (a.siteUuid < b.siteUuid ? -1 : 1));
  const [first, second] = teams as [Team, Team];
  await db.sql.begin(async (tx) => {
    await tx`select from public.provider_credentials where site_id = ${second.siteUuid} for update`;
    const { child, ended } = startRotation();
    await untilSomebodyWaits(db.sql);
    child.kill("SIGKILL");
    await ended;
  });
  const keysNow = await Promise.all(teams.map(async (team) => (await stored(team)).keyId));
  expect(keysNow[0]).toBe(ring.current.id);
  for (const team of teams)
    expect(openSecret(await stored(team), credentialsPlace(team.siteUuid, "google_ads"), ring)).toContain("secret of");
  expect(await startRotation().ended).toMatchObject({ code: 0 });
  expect([await stored(first), await stored(second)].map(({ keyId }) => keyId)).toEqual([ring.current.id, ring.current.id]);
});

// Guarantee: an owner who reconnects during a rotation keeps the new credentials. Mutation: reseal without the version.
test("credentials that an owner replaces meanwhile are not overwritten", async () => {
  const team = await connectedTeam();
  const place = credentialsPlace(team.siteUuid, "google_ads");
  const fresh = sealSecret("new credentials", place, ring);
  const connection = { provider: "google_ads", transport: "data_manager", account: { customerId: "1" }, ...fresh };
  const reconnect = (tx: postgres.TransactionSql) => tx`select public.connect_provider(${team.siteId}, ${tx.json(connection)})`;
  const ended = await forceRace(db.sql, team.owner, reconnect, () => startRotation().ended);
  expect(ended).toMatchObject({ code: 0, output: expect.stringContaining("0 sealed again") });
  expect(openSecret(await stored(team), place, ring)).toBe("new credentials");
});

test("what does not open is counted, the rest is done, and no content is printed", async () => {
  const broken = await connectedTeam({ ...sealSecret("broken secret", { siteUuid: "elsewhere" as SiteUuid, purpose: "x" }, older) });
  const sound = await connectedTeam();
  const { code, output } = await startRotation().ended;
  expect(code).toBe(1);
  expect(output).toContain("1 sealed again");
  expect(output).toContain("1 still under the key");
  for (const hidden of ["secret of", bothKeys.OPSMANTIK_VAULT_KEY, (await stored(broken)).sealed, broken.siteUuid, sound.siteUuid])
    expect(output).not.toContain(hidden);
});

test("asked without two different keys it says which variable is missing and touches nothing", async () => {
  const team = await connectedTeam();
  for (const [variables, message] of [
    [{}, "OPSMANTIK_VAULT_KEY is not set"],
    [oldKey, "Set OPSMANTIK_VAULT_KEY_PREVIOUS"],
    [{ ...oldKey, OPSMANTIK_VAULT_KEY_PREVIOUS: oldKey.OPSMANTIK_VAULT_KEY }, "are the same key"],
  ] as const)
    expect(await startRotation({ ...variables }).ended).toMatchObject({ code: 2, output: expect.stringContaining(message) });
  expect((await stored(team)).keyId).toBe(older.current.id);
});
