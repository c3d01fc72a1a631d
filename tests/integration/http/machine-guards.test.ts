import { createHash } from "node:crypto";
import { SignJWT, UnsecuredJWT } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { GET as cronRoute } from "#app/api/cron/invitation-cleanup/route.ts";
import { qstash, siteApiKey } from "#lib/guards/machine.ts";
import { handler } from "#lib/http/handler.ts";
import { scriptSession } from "#lib/oci/script/guards.ts";
import { issueScriptSession } from "#lib/oci/script/session.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { createKey } from "#tests/fixtures/site.ts";
import { createTeam, type Team } from "#tests/fixtures/team.ts";
import { appOrigin, useAppEnv } from "#tests/support/app-env.ts";
import { send } from "#tests/support/requests.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";
import { startTestGateway, type TestGateway } from "#tests/support/test-gateway.ts";

let db: TestDatabase;
let gateway: TestGateway;
let env: Record<string, string>;
let team: Team;
let other: Team;
let key: { id: string; key: string };

beforeAll(async () => {
  db = await createTestDatabase();
  gateway = await startTestGateway(db.adminUrl);
  env = useAppEnv({ database: db, gateway });
  team = await createTeam(db.sql, "ours");
  other = await createTeam(db.sql, "theirs", team.owner);
  key = await newKey();
});
afterAll(async () => {
  await gateway.stop();
  await db.drop();
});

const newKey = () => createKey(db.sql, team);
const revoke = (id: string) => callAs(db.sql, team.owner, (tx) => tx`select public.revoke_site_api_key(${team.siteId}, ${id})`);

describe("cron", () => {
  const call = (headers: Record<string, string>) => send(cronRoute, { method: "GET", headers });

  test("runs with the secret", async () => {
    const response = await call({ authorization: `Bearer ${env.CRON_SECRET}` });
    expect(await response.json()).toEqual({ purged: 0 });
  });

  // Guarantee: nobody can run our crons by imitating Vercel's headers.
  test.each([
    ["Vercel's header and user agent alone", { "x-vercel-cron": "1", "user-agent": "vercel-cron/1.0" }],
    ["a wrong secret", { authorization: "Bearer wrong" }],
    ["an empty secret", { authorization: "Bearer " }],
    ["the word undefined", { authorization: "Bearer undefined" }],
    ["the secret without Bearer", { authorization: "cron-secret-of-tests" }],
  ])("refuses %s", async (_name, headers) => {
    expect((await call(headers as Record<string, string>)).status).toBe(401);
  });
});

describe("qstash", () => {
  const path = "/api/workers/test";
  const body = '{"site":"abc"}';
  const worker = handler({ guard: qstash, body: z.unknown(), run: ({ body }) => ({ got: body }) });
  const deliver = (signature: string, text = body) => send(worker, { path, body: text, headers: { "upstash-signature": signature } });

  const claims = (change: Record<string, unknown> = {}) => {
    const now = Math.floor(Date.now() / 1000);
    return {
      iss: "Upstash",
      sub: `${appOrigin}${path}`,
      iat: now,
      nbf: now,
      exp: now + 300,
      jti: "jwt_1",
      body: createHash("sha256").update(body).digest("base64url"),
      ...change,
    };
  };
  const sign = (secret: string, change?: Record<string, unknown>) =>
    new SignJWT(claims(change)).setProtectedHeader({ alg: "HS256", typ: "JWT" }).sign(new TextEncoder().encode(secret));

  test("takes a delivery signed with the current or the next key", async () => {
    for (const secret of [env.QSTASH_CURRENT_SIGNING_KEY, env.QSTASH_NEXT_SIGNING_KEY]) {
      const response = await deliver(await sign(secret ?? ""));
      expect(await response.json()).toEqual({ got: { site: "abc" } });
    }
  });

  // Guarantee: nobody but our QStash can wake a worker, and no message works at another route or with another body.
  test("refuses every forged delivery", async () => {
    const current = env.QSTASH_CURRENT_SIGNING_KEY ?? "";
    const past = Math.floor(Date.now() / 1000) - 600;
    const forged = {
      "no signature": "",
      "another key": await sign("sig_somebody-else"),
      "another route": await sign(current, { sub: `${appOrigin}/api/workers/other` }),
      "another body": await sign(current, { body: createHash("sha256").update("{}").digest("base64url") }),
      expired: await sign(current, { iat: past, nbf: past, exp: past + 300 }),
      "another issuer": await sign(current, { iss: "Somebody" }),
      "no algorithm": new UnsecuredJWT(claims()).encode(),
    };
    for (const [name, signature] of Object.entries(forged)) expect((await deliver(signature)).status, name).toBe(401);
    expect((await deliver(await sign(current), `${body} `)).status, "one more space").toBe(401);
  });
});

describe.each([
  {
    name: "an API key",
    guard: siteApiKey(() => ["script"]),
    credential: () => ({ "x-api-key": key.key }) as Record<string, string>,
    code: "INVALID_API_KEY",
  },
  {
    name: "a script session",
    guard: scriptSession,
    credential: async () => ({ authorization: `Bearer ${(await issueScriptSession(key.id, env.OCI_SESSION_SECRET ?? "")).token}` }),
    code: "INVALID_SESSION_TOKEN",
  },
])("$name", ({ guard, credential, code }) => {
  const route = handler({ guard, run: ({ actor }) => ({ siteId: actor.siteId }) });

  test("speaks for its site", async () => {
    const response = await send(route, { headers: await credential() });
    expect(await response.json()).toEqual({ siteId: team.siteId });
  });

  // Guarantee: a credential of one customer never reads or changes another's data by naming their site.
  test("is refused when the request names another site, wherever it names it", async () => {
    const headers = await credential();
    const named = [
      { path: `/api/x?siteId=${other.siteId}` },
      { params: { siteId: other.siteId } },
      { body: { siteId: other.siteId } },
      { body: { siteId: 7 } },
    ];
    for (const sending of named) expect((await send(route, { ...sending, headers })).status).toBe(403);
    expect((await send(route, { path: `/api/x?siteId=${team.siteId}`, headers })).status).toBe(200);
  });

  test("missing or wrong is 401, and so is one whose key was revoked", async () => {
    const wrong: Record<string, string>[] = [{}, { "x-api-key": "om_wrong", authorization: "Bearer wrong" }];
    for (const headers of wrong) {
      const response = await send(route, { headers });
      expect([response.status, (await response.json()).code]).toEqual([401, code]);
    }
    const headers = await credential();
    await revoke(key.id);
    expect((await send(route, { headers })).status).toBe(401);
    key = await newKey();
  });
});
