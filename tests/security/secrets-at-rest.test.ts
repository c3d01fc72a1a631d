import { spawn } from "node:child_process";
import { once } from "node:events";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { callSecretPlace } from "#lib/ingest/call-secret.ts";
import { keyRing, openSecret, sealSecret } from "#lib/vault/secret.ts";
import { makeCallSecret } from "#tests/fixtures/site.ts";
import { type IngestApp, type IngestSite, sign, startIngestApp } from "#tests/support/ingest-app.ts";
import { cookiesOf, fromOurPage, send } from "#tests/support/requests.ts";
import { startTestGateway, type TestGateway } from "#tests/support/test-gateway.ts";

let app: IngestApp;
let gateway: TestGateway;
beforeAll(async () => {
  app = await startIngestApp({ worker: "asleep" });
  gateway = await startTestGateway(app.db.adminUrl);
});
afterEach(() => {
  vi.resetModules();
  Object.assign(process.env, app.env);
  delete process.env.OPSMANTIK_VAULT_KEY_PREVIOUS;
});
afterAll(async () => {
  await gateway.stop();
  await app.stop();
});

const ownerOf = (site: IngestSite) => ({ ...site, owner: app.owner });
const status = async (site: IngestSite, secret = site.callSecret) =>
  (await app.call(site, { event_id: secret.slice(0, 8) }, { secret })).status;

/** The route in an app that was started with these variables; "" takes one away. */
async function appWith(variables: Record<string, string>) {
  vi.resetModules();
  Object.assign(process.env, variables);
  const { POST } = await import("#app/api/call-event/route.ts");
  const { POST: make } = await import("#app/api/sites/[siteId]/call-event-secret/route.ts");
  const call = (site: IngestSite, body: unknown) => {
    const [ts, text] = [String(Math.floor(Date.now() / 1000)), JSON.stringify(body)];
    const signature = sign(site.callSecret, ts, text);
    return send(POST, { body: text, headers: { "x-ops-site-id": site.siteId, "x-ops-ts": ts, "x-ops-signature": signature } });
  };
  const makeSecret = async (site: IngestSite) =>
    send(make, { params: { siteId: site.siteId }, headers: fromOurPage(await cookiesOf(gateway, app.owner)) });
  return { call, makeSecret };
}

const runCommand = (script: string, variables: Record<string, string>) => {
  const child = spawn(process.execPath, [script], { env: { NODE_ENV: "test", ...variables } });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (chunk) => (output += chunk));
  return { child, ended: once(child, "close").then(([code]) => ({ code: code as number | null, output })) };
};

// Guarantee: a stolen copy of the database reports no calls. Mutation: store the secret as it is shown.
test("a dump of the database does not sign a call", async () => {
  const site = await app.newSite();
  await makeCallSecret(app.db.sql, ownerOf(site));
  const [row] = await app.db.sql`select to_jsonb(x) as secrets from private.site_secrets x where site_id = ${site.siteUuid}`;
  const values: string[] = Object.values(row?.secrets as Record<string, string>);
  expect(values).not.toContain(site.callSecret);
  for (const value of values) {
    expect(await status(site, value)).toBe(401);
    expect(await status(site, Buffer.from(value, "base64").toString("hex"))).toBe(401);
  }
  expect(await status(site)).toBe(200);
});

// Guarantee: whoever can write to the table gains no other site. Mutation: leave the site out of what is authenticated.
test("a sealed secret that is copied to another site signs nothing there", async () => {
  const [mine, theirs] = [await app.newSite(), await app.newSite()];
  await app.db.sql`
    update private.site_secrets x set sealed = y.sealed from private.site_secrets y
    where x.site_id = ${theirs.siteUuid} and y.site_id = ${mine.siteUuid}`;
  const answer = await app.call({ ...theirs, callSecret: mine.callSecret }, { event_id: "a" });
  expect([answer.status, (await answer.json()).code]).toEqual([503, "VAULT_KEY_MISMATCH"]);
  await app.db.sql`delete from private.site_secrets where site_id = ${theirs.siteUuid}`;
});

describe("a replaced secret", () => {
  // Guarantee: a secret that leaked and was replaced is of no use after seven days. Mutation: leave previous_until out of call_event_secrets.
  test.each([
    ["seven days less a minute", 7 * 86_400 - 60, 200],
    ["seven days", 7 * 86_400, 401],
  ])("%s later", async (_name, secondsAgo, expected) => {
    const site = await app.newSite();
    const at = new Date(Date.now() - secondsAgo * 1000);
    const newest = await makeCallSecret(app.db.sql, ownerOf(site), { at });
    expect([await status(site), await status(site, newest)]).toEqual([expected, 200]);
  });

  test("is deleted once it is dead, and one that lives stays", async () => {
    const [dead, alive] = [await app.newSite(), await app.newSite()];
    await makeCallSecret(app.db.sql, ownerOf(dead), { at: new Date(Date.now() - 8 * 86_400_000) });
    await makeCallSecret(app.db.sql, ownerOf(alive));
    const { GET } = await import("#app/api/cron/ingest/partitions/route.ts");
    const tidied = await send(GET, { method: "GET", headers: { authorization: `Bearer ${app.env.CRON_SECRET}` } });
    expect((await tidied.json()).purgedSecrets).toBeGreaterThanOrEqual(1);
    const rows = await app.db.sql`
      select site_id, previous_sealed is null as gone from private.site_secrets where site_id in ${app.db.sql([dead.siteUuid, alive.siteUuid])}`;
    expect(Object.fromEntries(rows.map((row) => [row.site_id, row.gone]))).toEqual({ [dead.siteUuid]: true, [alive.siteUuid]: false });
    expect([await status(alive), await status(dead)]).toEqual([200, 401]);
  });
});

describe("the owner", () => {
  test("sees the secret once, and it signs", async () => {
    const site = await app.newSite();
    const gatewayEnv = { SUPABASE_URL: gateway.url, SUPABASE_PUBLISHABLE_KEY: gateway.publishableKey };
    const { makeSecret } = await appWith(gatewayEnv);
    const made = await makeSecret(site);
    expect(made.status).toBe(200);
    const { secret, previousUntil } = await made.json();
    expect(previousUntil).toEqual(expect.any(String));
    expect([await status(site, secret), await status(site)]).toEqual([200, 200]);
  });

  // Guarantee: without a vault key nothing is stored in clear instead, and the secret that works is not replaced.
  test("gets no secret from a server without a vault key, and is told why", async () => {
    const site = await app.newSite();
    const { makeSecret } = await appWith({
      SUPABASE_URL: gateway.url,
      SUPABASE_PUBLISHABLE_KEY: gateway.publishableKey,
      OPSMANTIK_VAULT_KEY: "",
    });
    const refused = await makeSecret(site);
    expect([refused.status, (await refused.json()).code]).toEqual([503, "VAULT_KEY_MISSING"]); // the log names the variable
    expect(await status(site)).toBe(200);
  });
});

describe("a server without the right vault key", () => {
  // Guarantee: a telephone system keeps the call and sends it again. A 401 would look as if its secret were wrong.
  test.each([
    ["no key", "", "VAULT_KEY_MISSING"],
    ["another key", Buffer.alloc(32, "another").toString("base64"), "VAULT_KEY_MISMATCH"],
  ])("answers 503 to a telephone system: %s", async (_name, key, code) => {
    const site = await app.newSite();
    const { call } = await appWith({ OPSMANTIK_VAULT_KEY: key });
    const answer = await call(site, { event_id: "a" });
    expect([answer.status, (await answer.json()).code]).toEqual([503, code]);
  });

  test("answers 401 for a site without a secret", async () => {
    const site = await app.newSite();
    await app.db.sql`delete from private.site_secrets where site_id = ${site.siteUuid}`;
    const { call } = await appWith({ OPSMANTIK_VAULT_KEY: "" });
    expect((await call(site, { event_id: "a" })).status).toBe(401);
  });
});

test("the signature is checked the same over the Supabase API as over the driver", async () => {
  const site = await app.newSite();
  const { call } = await appWith({ DATABASE_URL: "", SUPABASE_URL: gateway.url, SUPABASE_SECRET_KEY: gateway.secretKey });
  expect((await call(site, { event_id: "a" })).status).toBe(200);
  expect((await call({ ...site, callSecret: "wrong" }, { event_id: "b" })).status).toBe(401);
});

describe("npm run vault:rotate", () => {
  const newKey = Buffer.alloc(32, "next vault key").toString("base64");
  const keys = () => ({ OPSMANTIK_VAULT_KEY: newKey, OPSMANTIK_VAULT_KEY_PREVIOUS: String(app.env.OPSMANTIK_VAULT_KEY) });
  afterAll(async () => {
    const back = { OPSMANTIK_VAULT_KEY: keys().OPSMANTIK_VAULT_KEY_PREVIOUS, OPSMANTIK_VAULT_KEY_PREVIOUS: newKey };
    await runCommand("scripts/vault-rotate.ts", { DATABASE_URL: app.db.appUrl, ...back }).ended;
  });

  // Guarantee: after a rotation the old key can go, and no telephone system notices. Mutation: leave previous_sealed out of the list.
  test("seals present and replaced call secrets again, and both sign under the new key alone", async () => {
    const site = await app.newSite();
    const newest = await makeCallSecret(app.db.sql, ownerOf(site));
    const { code, output } = await runCommand("scripts/vault-rotate.ts", { DATABASE_URL: app.db.appUrl, ...keys() }).ended;
    expect([code, output]).toEqual([0, expect.stringContaining("nothing is left under the previous key")]);
    const { call } = await appWith({ OPSMANTIK_VAULT_KEY: newKey });
    expect((await call(site, { event_id: "a" })).status).toBe(200);
    expect((await call({ ...site, callSecret: newest }, { event_id: "b" })).status).toBe(200);
  });
});

describe("npm run secrets:seal", () => {
  const clearColumns = async () => {
    await app.db.sql`alter table private.site_secrets add column call_event_secret text, add column previous_call_event_secret text`;
  };
  const columns = async () =>
    (
      await app.db
        .sql`select column_name as name from information_schema.columns where table_schema = 'private' and table_name = 'site_secrets'`
    ).map(({ name }) => name);
  const seal = () =>
    runCommand("scripts/secrets-seal.ts", { DATABASE_URL: app.db.adminUrl, OPSMANTIK_VAULT_KEY: String(app.env.OPSMANTIK_VAULT_KEY) })
      .ended;

  // Guarantee: an installation that stored secrets in clear has none left afterwards, and its telephone systems go on.
  test("encrypts what an older version stored in clear, drops the columns, and can be repeated", async () => {
    const [old, replaced] = [await app.newSite(), await app.newSite()];
    await clearColumns();
    const clear = { present: "1".repeat(64), previous: "2".repeat(64) };
    await app.db.sql`
      update private.site_secrets set key_id = null, sealed = null, call_event_secret = ${clear.present}, previous_call_event_secret = ${clear.previous}
      where site_id = ${old.siteUuid}`;
    await app.db.sql`update private.site_secrets set call_event_secret = ${"3".repeat(64)} where site_id = ${replaced.siteUuid}`;
    const { code, output } = await seal();
    expect([code, output]).toEqual([0, expect.stringContaining("2 call secrets encrypted")]);
    expect(await columns()).not.toContain("call_event_secret");
    expect(output).not.toContain(clear.present);
    expect([await status(old, clear.present), await status(old, clear.previous)]).toEqual([200, 200]);
    expect([await status(replaced), await status(replaced, "3".repeat(64))]).toEqual([200, 200]);
    expect(await seal()).toMatchObject({ code: 0, output: expect.stringContaining("0 call secrets encrypted") });
  });

  test("without a vault key it changes nothing and says so", async () => {
    const { code, output } = await runCommand("scripts/secrets-seal.ts", { DATABASE_URL: app.db.adminUrl }).ended;
    expect([code, output]).toEqual([2, expect.stringContaining("OPSMANTIK_VAULT_KEY is not set")]);
  });
});

// Guarantee: a key that encrypts call secrets opens nothing that was sealed for another purpose.
test("a call secret's ciphertext does not open as credentials, nor the other way round", async () => {
  const ring = keyRing({ OPSMANTIK_VAULT_KEY: String(app.env.OPSMANTIK_VAULT_KEY) });
  const { siteUuid } = await app.newSite();
  const place = callSecretPlace(siteUuid);
  const sealed = sealSecret("a secret", place, ring);
  expect(openSecret(sealed, place, ring)).toBe("a secret");
  expect(() => openSecret(sealed, { siteUuid, purpose: "provider_credentials:google_ads" }, ring)).toThrow(
    "belongs to another site or purpose",
  );
});
