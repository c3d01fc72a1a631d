import { createHash, randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { POST as confirmRoute } from "#app/api/sales/confirm/route.ts";
import { POST as recordRoute } from "#app/api/sales/route.ts";
import { GET as proofRoute } from "#app/v1/contract/proofs/[proofId]/route.ts";
import { POST as transitionRoute } from "#app/v1/contract/transition/route.ts";
import { type KeyScope, keyScopes } from "#lib/tenancy/site-roles.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { newLead } from "#tests/fixtures/leads.ts";
import { service } from "#tests/fixtures/service.ts";
import { forceRace } from "#tests/support/force-race.ts";
import { type OciApp, type OciSite, startOciApp } from "#tests/support/oci-app.ts";
import { send } from "#tests/support/requests.ts";
import { whileOpen } from "#tests/support/while-open.ts";

let app: OciApp;
let site: OciSite;
beforeAll(async () => {
  app = await startOciApp();
  site = await app.newSite();
});
afterAll(() => app.stop());

interface Key {
  id: string;
  key: string;
}
const newKey = (scopes: readonly KeyScope[], at?: Date, of = site) =>
  callAs<Key>(app.db.sql, of.owner, (tx) => tx`select public.create_site_api_key(${of.siteId}, 'Key', ${[...scopes]})`, at);
const narrow = (key: Key, scopes: string[], person = site.owner) =>
  callAs<{ scopes: string[] }>(app.db.sql, person, (tx) => tx`select public.narrow_site_api_key(${site.siteId}, ${key.id}, ${scopes})`);
const authenticate = (key: Key, scopes: KeyScope[], at?: Date) =>
  service(app.db.sql, "authenticate_api_key", { p_key_hash: createHash("sha256").update(key.key).digest("hex"), p_scopes: scopes }, at);
const post = (route: typeof recordRoute, key: Key, body: object) =>
  send(route, { body, headers: { "x-api-key": key.key, "idempotency-key": randomUUID() } });
const sale = () => ({ external_ref: randomUUID(), occurred_at: new Date().toISOString(), amount: 1500 });
const move = (key: Key, contract: string, id: string, to: string) => post(transitionRoute, key, { contract, id, to });

/** Everything that a key can be used for. */
const uses: Record<string, (key: Key) => Promise<Response>> = {
  verify: ({ key }) => app.verify({ siteId: site.siteId }, { "x-api-key": key, "x-forwarded-for": randomUUID() }),
  "record a sale": (key) => post(recordRoute, key, sale()),
  "confirm a sale": (key) => post(confirmRoute, key, { sale_id: randomUUID() }),
  "move a lead": async (key) => move(key, "call", await newLead(app.db.sql, site), "sealed"),
  "move a sale": (key) => move(key, "sale", randomUUID(), "CANCELED"),
  "move a conversion": (key) => move(key, "conversion", randomUUID(), "FAILED"),
  "read a proof": ({ key }) => send(proofRoute, { method: "GET", params: { proofId: randomUUID() }, headers: { "x-api-key": key } }),
};
const allowed: Record<KeyScope, string[]> = {
  script: ["verify"],
  calls: ["move a lead", "read a proof"],
  sales: ["record a sale", "confirm a sale", "move a sale", "read a proof"],
  contracts: ["move a lead", "move a sale", "move a conversion", "read a proof"],
};

// Guarantee: the key in a customer's script, which everybody in their Google Ads account can read, seals no leads.
// Mutations that break it: drop requireScope from the guard, or the scopes from key_site_id.
describe.each(keyScopes)("a key with the scope %s", (scope) => {
  test("does what the scope says; everything else is 403 and names what it lacks", async () => {
    const key = await newKey([scope]);
    for (const [use, ask] of Object.entries(uses)) {
      const response = await ask(key);
      const { code, needs, detail } = await response.json();
      if (allowed[scope].includes(use)) expect([use, response.status === 200 || code === "NOT_FOUND"]).toEqual([use, true]);
      else expect([use, response.status, code]).toEqual([use, 403, "INSUFFICIENT_SCOPE"]);
      if (use === "move a lead" && scope === "script") {
        expect(needs).toEqual(["calls", "contracts"]);
        expect(detail).toBe("This API key has the scope script. This needs calls or contracts.");
      }
    }
  });

  test("is refused by SQL too, where it was narrowed after the guard let it in", async () => {
    const { id } = await newKey([scope]);
    const hash = "0".repeat(64);
    const asked = [
      ["sales", () => app.db.sql`select public.record_external_sale(${id}, '{}', ${hash})`],
      ["sales", () => app.db.sql`select public.confirm_sale_and_enqueue(${id}, '{}', ${hash})`],
      ["contracts", () => app.db.sql`select public.transition_contract_for_key(${id}, '{"contract": "conversion"}', 'k', ${hash})`],
    ] as const;
    for (const [needed, call] of asked)
      if (needed !== scope) await expect(call()).rejects.toMatchObject({ code: "PT403", message: "INSUFFICIENT_SCOPE" });
  });
});

test("a new key is for scripts unless its owner chose otherwise, and for nothing unknown", async () => {
  const [row] = await app.db.sql`select scopes from public.site_api_keys where id = ${site.keyId}`;
  expect(row?.scopes).toEqual(["script"]);
  for (const scopes of [[], ["admin"], ["script", "admin"]])
    await expect(newKey(scopes as KeyScope[])).rejects.toMatchObject({ message: "VALIDATION_FAILED" });
});

describe("narrowing", () => {
  // Guarantee: what an owner takes away stops at once, also for a script that is in the middle of its run.
  // Mutation that breaks it: let a session live on when its key lost the scope.
  test("ends a script's session, and the owner sees why the script stopped", async () => {
    const own = await app.newSite();
    const key = await newKey(["script", "sales"], undefined, own);
    const token = await app.session({ ...own, key: key.key });
    expect((await app.exportRows(own, token)).status).toBe(200);
    await callAs(app.db.sql, own.owner, (tx) => tx`select public.narrow_site_api_key(${own.siteId}, ${key.id}, '{sales}')`);
    const ended = await app.exportRows(own, token);
    expect([ended.status, (await ended.json()).code]).toEqual([401, "INVALID_SESSION_TOKEN"]);
    const again = await app.verify({ siteId: own.siteId }, { "x-api-key": key.key });
    expect([again.status, (await again.json()).code]).toEqual([403, "INSUFFICIENT_SCOPE"]);
    const { runs } = await callAs<{ runs: object[] }>(app.db.sql, own.owner, (tx) => tx`select public.script_status(${own.siteId})`);
    expect(runs[0]).toMatchObject({ kind: "verify", errorCode: "INSUFFICIENT_SCOPE" });
  });

  test("takes away and never gives", async () => {
    const key = await newKey(["calls", "sales"]);
    await expect(narrow(key, ["sales", "contracts"])).rejects.toMatchObject({ message: "SCOPE_NOT_HELD" });
    await expect(narrow(key, [])).rejects.toMatchObject({ message: "VALIDATION_FAILED" });
    expect(await narrow(key, ["sales"])).toEqual({ scopes: ["sales"] });
    expect(await narrow(key, ["sales"])).toEqual({ scopes: ["sales"] });
    await expect(narrow(key, ["calls"])).rejects.toMatchObject({ message: "SCOPE_NOT_HELD" });
    await callAs(app.db.sql, site.owner, (tx) => tx`select public.revoke_site_api_key(${site.siteId}, ${key.id})`);
    await expect(narrow(key, ["sales"])).rejects.toMatchObject({ message: "NOT_FOUND" });
  });

  // Guarantee: of two owners who narrow at the same moment, the second does not give back what the first took.
  // Mutation that breaks it: read the key without "for update".
  test("by two owners at once leaves what both left", async () => {
    const key = await newKey(["script", "calls", "sales"]);
    const second = await forceRace(
      app.db.sql,
      site.owner,
      (tx) => tx`select public.narrow_site_api_key(${site.siteId}, ${key.id}, '{script}')`,
      () => narrow(key, ["calls", "sales"]),
    );
    expect(second).toMatchObject({ message: "SCOPE_NOT_HELD" });
    const [row] = await app.db.sql`select scopes from public.site_api_keys where id = ${key.id}`;
    expect(row?.scopes).toEqual(["script"]);
  });
});

describe("use", () => {
  const minutes = (count: number) => new Date(Date.parse("2026-11-16T09:00:00Z") + count * 60_000);
  const usedAt = async (key: Key) => {
    const [row] = await app.db.sql`select scope_used as used from public.site_api_keys where id = ${key.id}`;
    return Object.fromEntries(Object.entries(row?.used ?? {}).map(([scope, at]) => [scope, new Date(String(at))]));
  };

  test("is noted for the narrowest scope that would do, at most once a minute, and not for one that is missing", async () => {
    const key = await newKey(["calls", "contracts"], minutes(0));
    await authenticate(key, ["calls", "contracts"], minutes(1));
    await authenticate(key, ["calls", "contracts"], minutes(1.5));
    await authenticate(key, ["sales", "contracts"], minutes(1.5));
    await authenticate(key, ["script"], minutes(9));
    expect(await usedAt(key)).toEqual({ calls: minutes(1), contracts: minutes(1.5) });
    await authenticate(key, ["calls"], minutes(3));
    expect((await usedAt(key)).calls).toEqual(minutes(3));
  });

  // Guarantee: an owner who narrows by "never used" does not stop something that runs every hour.
  // Mutation that breaks it: write back the notes as they were read.
  test("of two scopes at the same moment is noted for both", async () => {
    const key = await newKey(["calls", "sales"]);
    const hash = createHash("sha256").update(key.key).digest("hex");
    await whileOpen(
      app.db.sql,
      (tx) => tx`select public.authenticate_api_key(${hash}, '{calls}')`,
      () => authenticate(key, ["sales"]),
    );
    expect(Object.keys(await usedAt(key)).sort()).toEqual(["calls", "sales"]);
  });
});
