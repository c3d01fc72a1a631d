import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { GET as unknownGet, POST as unknownPost } from "#app/v1/[...path]/route.ts";
import { postgresTransport } from "#lib/db/postgres-transport.ts";
import { supabaseTransport } from "#lib/db/supabase-transport.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { newLead } from "#tests/fixtures/leads.ts";
import { asPerson, type ContractsApp, newKey, receipt, startContractsApp, transition, withKey } from "#tests/support/contracts-app.ts";
import { send } from "#tests/support/requests.ts";
import { startTestGateway } from "#tests/support/test-gateway.ts";

let app: ContractsApp;
let byKey: Record<string, string>;
const people: Record<"owner" | "operator" | "viewer" | "stranger", Record<string, string>> = {
  owner: {},
  operator: {},
  viewer: {},
  stranger: {},
};
beforeAll(async () => {
  app = await startContractsApp();
  byKey = withKey(app.teamKey);
  for (const role of ["owner", "operator", "viewer"] as const) people[role] = await asPerson(app.gateway, app.team[role]);
  people.stranger = await asPerson(app.gateway, app.other.owner);
});
afterAll(() => app.stop());

const lead = () => newLead(app.db.sql, app.team);
const moveCall = (id: string, to: string, more: Record<string, unknown> = {}) => ({ contract: "call", id, to, ...more });

describe("who may", () => {
  test.each([
    ["nobody", { cookie: "" }, 401, "UNAUTHENTICATED"],
    ["a cookie of nobody's", { cookie: "om_session=forged" }, 401, "UNAUTHENTICATED"],
    ["an unknown key", { "x-api-key": "om_00" }, 401, "INVALID_API_KEY"],
    ["an empty key beside a session", { "x-api-key": "" }, 401, "INVALID_API_KEY"],
  ])("%s is refused", async (_name, headers, status, code) => {
    const answer = await transition({ ...people.operator, ...headers }, moveCall(await lead(), "qualified"));
    expect([answer.status, answer.body.code]).toEqual([status, code]);
  });

  test("a viewer is 403; operators and owners may", async () => {
    const id = await lead();
    const viewer = await transition(people.viewer, moveCall(id, "qualified"));
    expect([viewer.status, viewer.body.code]).toEqual([403, "FORBIDDEN"]);
    expect((await transition(people.operator, moveCall(id, "qualified"))).status).toBe(200);
    expect((await transition(people.owner, moveCall(id, "meeting"))).status).toBe(200);
  });

  // Guarantee: another customer's record cannot be told from one that does not exist, nor be replayed with a guessed key.
  test("another tenant's key and people get the 404 of what does not exist, also for a key that was used", async () => {
    const id = await lead();
    const key = randomUUID();
    await transition(byKey, moveCall(id, "qualified", { idempotency_key: key }));
    for (const headers of [withKey(app.otherKey), people.stranger]) {
      const theirs = await transition(headers, moveCall(id, "qualified", { idempotency_key: key }));
      const unknown = await transition(headers, moveCall(randomUUID(), "qualified"));
      expect([theirs.status, theirs.body.code, theirs.replayed]).toEqual([404, "NOT_FOUND", false]);
      expect({ ...theirs.body, requestId: "" }).toEqual({ ...unknown.body, requestId: "" });
    }
  });

  test("a page of another site is 403 with somebody's cookies", async () => {
    const forged = { ...people.operator, origin: "https://evil.test", "sec-fetch-site": "cross-site" };
    const answer = await transition(forged, moveCall(await lead(), "qualified"));
    expect([answer.status, answer.body.code]).toEqual([403, "CROSS_SITE_REQUEST"]);
  });

  test("a revoked key is 401, also when it is revoked after the guard; an archived site is 409 for people and 401 for keys", async () => {
    const id = await lead();
    const revoked = await newKey(app.db, app.team);
    await callAs(app.db.sql, app.team.owner, (tx) => tx`select public.revoke_site_api_key(${app.team.siteId}, ${revoked.id})`);
    const answer = await transition(withKey(revoked), moveCall(id, "qualified"));
    expect([answer.status, answer.body.code]).toEqual([401, "INVALID_API_KEY"]);
    await expect(
      app.db
        .sql`select public.transition_contract_for_key(${revoked.id}, ${app.db.sql.json({ contract: "call", id, to: "junk" })}, 'k', ${"0".repeat(64)})`,
    ).rejects.toMatchObject({ code: "PT401", message: "INVALID_API_KEY" });
    const archive = (archived: boolean) =>
      callAs(app.db.sql, app.team.owner, (tx) => tx`select public.set_site_archived(${app.team.siteId}, ${archived})`);
    await archive(true);
    const [person, machine] = [await transition(people.operator, moveCall(id, "junk")), await transition(byKey, moveCall(id, "junk"))];
    await archive(false);
    expect([person.status, person.body.code, machine.status]).toEqual([409, "SITE_ARCHIVED", 401]);
  });
});

test("a program that forgot its key is told so, whatever page it says it comes from", async () => {
  const answer = await transition({}, moveCall(await lead(), "qualified"));
  expect([answer.status, answer.body.code, String(answer.body.detail)]).toEqual([
    401,
    "UNAUTHENTICATED",
    expect.stringContaining("x-api-key"),
  ]);
});

describe("GET /v1/contract/proofs/:proofId", () => {
  test("is for the tenant's viewers and keys; another's is a 404", async () => {
    const { body } = await transition(byKey, moveCall(await lead(), "qualified", { reason: "secret words" }));
    const proofId = String(body.proof_id);
    for (const headers of [byKey, people.viewer, people.owner]) {
      const seen = await receipt(headers, proofId);
      expect([seen.status, seen.body.proof_id, seen.body.to]).toEqual([200, proofId, "qualified"]);
      expect(seen.text).not.toContain("secret words"); // notes can be erased, receipts can not
    }
    for (const headers of [withKey(app.otherKey), people.stranger])
      expect((await receipt(headers, proofId)).body).toMatchObject({ status: 404, code: "NOT_FOUND" });
    expect((await receipt({}, proofId)).status).toBe(401);
    expect((await receipt(byKey, "seven")).status).toBe(400);
  });
});

test("an address below /v1 that does not exist is a 404 that a program can read", async () => {
  for (const [route, method] of [
    [unknownGet, "GET"],
    [unknownPost, "POST"],
  ] as const) {
    const response = await send(route, { method, path: "/v1/nowhere" });
    expect([response.status, response.headers.get("content-type"), (await response.json()).code]).toEqual([
      404,
      "application/problem+json",
      "NOT_FOUND",
    ]);
  }
});

// Guarantee: what is answered again is what was answered, whatever letters and numbers are in it and whichever way it goes.
test("Turkish letters and integers beyond 2^53 come back byte for byte over both doors", async () => {
  await app.db.sql.unsafe(`
    create function private.odd_effect(p_args jsonb) returns jsonb language sql set search_path = '' as $$
      select jsonb_build_object('big', 9007199254740993, 'words', 'İğüşöç ıİ "é" \\ \u{1F642}', 'nothing', null, 'decimals', 1.10) $$;
    create function public.odd_once(p_site uuid, p_key text) returns jsonb language sql security definer set search_path = '' as $$
      select private.answer_once(p_site, 'odd', p_key, repeat('0', 64), 'private.odd_effect'::regproc, '{}') $$;
    grant execute on function public.odd_once to opsmantik_app, service_role;`);
  const gateway = await startTestGateway(app.db.adminUrl); // the other one does not know the new function
  const doors = [postgresTransport({ url: app.db.appUrl }), supabaseTransport({ url: gateway.url, secretKey: gateway.secretKey })];
  const answers = [];
  for (const door of [...doors, ...doors]) answers.push(await door.call("odd_once", { p_site: app.team.siteUuid, p_key: "odd" }));
  await Promise.all([...doors.map((door) => door.close()), gateway.stop()]);
  const bodies = answers.map((answer) => (answer as { body: string }).body);
  expect(new Set(bodies).size).toBe(1);
  expect(bodies[0]).toContain("9007199254740993");
  expect(bodies[0]).toContain("1.10");
  expect(bodies[0]).toContain("İğüşöç");
});
