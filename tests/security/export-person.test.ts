import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { POST as erase } from "#app/api/sites/[siteId]/privacy/erase/route.ts";
import { POST as exportRoute } from "#app/api/sites/[siteId]/privacy/export/route.ts";
import { POST as preview } from "#app/api/sites/[siteId]/privacy/preview/route.ts";
import { exportPerson } from "#lib/privacy/export.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { createPerson, join, type Person, password } from "#tests/fixtures/team.ts";
import { type IngestApp, type IngestSite, startIngestApp } from "#tests/support/ingest-app.ts";
import { sendingSite } from "#tests/support/lead-journey.ts";
import { captureMore, cellsWith, claimRow, leaveTraces, ownersDoor, waysToAsk } from "#tests/support/person.ts";
import { cookiesOf, fromOurPage, send } from "#tests/support/requests.ts";
import { sharedStack } from "#tests/support/shared-stack.ts";
import { signInAs, startTestGateway, type TestGateway } from "#tests/support/test-gateway.ts";

let app: IngestApp;
let gateway: TestGateway;
beforeAll(async () => {
  app = await startIngestApp({ worker: "asleep" });
  gateway = await startTestGateway(app.db.adminUrl);
  Object.assign(process.env, {
    APP_URL: "https://app.opsmantik.test",
    SUPABASE_URL: gateway.url,
    SUPABASE_PUBLISHABLE_KEY: gateway.publishableKey,
  });
});
afterAll(async () => {
  await gateway.stop();
  await app.stop();
});

async function textOf(chunks: AsyncGenerator<string>): Promise<string> {
  let text = "";
  for await (const chunk of chunks) text += chunk;
  return text;
}

describe("an export", () => {
  // Guarantee: a person who asks what is stored gets all of it, whichever way they are asked for. Mutation: leave any list out of person_json.
  test("holds every trace of the person, nothing of another, and no internal id of the site", async () => {
    const site = await sendingSite(app);
    const [person, other] = [await leaveTraces(app, site), await leaveTraces(app, site)];
    await claimRow(app, site, person);
    await captureMore(app, site, person);
    for (const asked of waysToAsk(person)) {
      const text = await textOf(exportPerson(ownersDoor(app, site), asked));
      const file = JSON.parse(text);
      for (const trace of person.traces) expect(text).toContain(trace);
      for (const trace of other.traces) expect(text).not.toContain(trace);
      expect(text).not.toContain(site.siteUuid);
      expect(Object.fromEntries(Object.entries(file).map(([key, value]) => [key, Array.isArray(value) ? value.length : 0]))).toMatchObject({
        leads: 1,
        sales: 2,
        notes: 2,
        signals: 2,
        identifiersHandedOut: 1,
        visits: 2,
        choices: 1,
        clicksFirstSeen: 1,
        captured: 2,
        pageViews: 1,
        events: 2,
      });
      expect(file.sales.flatMap(({ ledger }: { ledger: unknown[] }) => ledger)[0]).toMatchObject({ amount_cents: expect.any(Number) });
    }
  });

  test("of a visit with thousands of events has each of them once", async () => {
    const site = await sendingSite(app);
    const person = await leaveTraces(app, site);
    await app.db.sql`insert into private.events (id, site_id, session_id, received_at, happened_at, category, action)
      select gen_random_uuid(), e.site_id, e.session_id, e.received_at, e.happened_at, 'interaction', 'view'
      from private.events e cross join generate_series(1, 2500) where e.site_id = ${site.siteUuid} and e.category = 'conversion'`;
    const file = JSON.parse(await textOf(exportPerson(ownersDoor(app, site), { kind: "visitor", value: person.visitor })));
    expect(new Set(file.events.map(({ id }: { id: string }) => id)).size).toBe(2502);
    expect(file.events).toHaveLength(2502);
  });

  test("of nobody is an empty file", async () => {
    const site = await sendingSite(app);
    const file = JSON.parse(await textOf(exportPerson(ownersDoor(app, site), { kind: "phone", value: "+905550000000" })));
    expect([file.leads, file.sales, file.visits, file.events]).toEqual([[], [], [], []]);
  });
});

describe("the routes of owners", () => {
  const call = (route: typeof erase, site: IngestSite, cookie: string | undefined, body: unknown) =>
    send(route, { params: { siteId: site.siteId }, body, headers: fromOurPage(cookie) });

  // Guarantee: only a site's owner reaches its people. Mutation: guard the routes with operator.
  test("refuse strangers, operators and other sites' owners; an owner previews, downloads and erases", async () => {
    const site = await sendingSite(app);
    const person = await leaveTraces(app, site);
    const [operator, outsider] = [await createPerson(app.db.sql, "op@privacy.test"), await createPerson(app.db.sql, "out@privacy.test")];
    await join(app.db.sql, site, operator, "operator");
    const cookie = (who: Person) => cookiesOf(gateway, who);
    const cookies = { owner: await cookie(app.owner), operator: await cookie(operator), outsider: await cookie(outsider) };
    const asked = { kind: "phone", value: person.phone };
    const before = await cellsWith(app, person.traces);
    for (const route of [preview, exportRoute, erase]) {
      const refused = [undefined, cookies.operator, cookies.outsider].map((each) => call(route, site, each, asked));
      expect((await Promise.all(refused)).map(({ status }) => status)).toEqual([401, 403, 404]);
      expect((await call(route, site, cookies.owner, { kind: "name", value: "Ayse" })).status).toBe(400);
      expect((await call(route, site, cookies.owner, { kind: "phone", value: "nobody" })).status).toBe(400);
    }
    expect(await cellsWith(app, person.traces)).toEqual(before);

    const seen = await (await call(preview, site, cookies.owner, asked)).text();
    for (const trace of person.traces) expect(seen).not.toContain(trace);
    const file = await call(exportRoute, site, cookies.owner, asked);
    expect(file.headers.get("content-disposition")).toContain("attachment");
    expect((await file.json()).leads).toHaveLength(1);
    const receipt = await (await call(erase, site, cookies.owner, asked)).json();
    expect(receipt).toMatchObject({ counts: { leads: 1 }, salt: expect.stringMatching(/^[0-9a-f]{32}$/) });
    expect(receipt).not.toHaveProperty("visitors");
    expect(await cellsWith(app, person.traces)).toEqual([]);
  });
});

describe("somebody who has an owner's session, and wants its customers", () => {
  const proofs = (site: IngestSite) =>
    app.db.sql`select actor_kind, actor_id, facts from public.transition_proofs
      where site_id = ${site.siteUuid} and contract = 'privacy' and to_state = 'exported' order by occurred_at, id`;

  // Guarantee: a copied session exports nobody. Mutation: leave require_fresh_sign_in out of export_person.
  test("is refused 15 minutes after the sign-in, on the first page and on any other", async () => {
    const site = await sendingSite(app);
    const person = await leaveTraces(app, site);
    const stolen = await signInAs(gateway, { email: app.owner.email, password });
    await app.db.sql`update auth.sessions set created_at = now() - interval '16 minutes' where user_id = ${app.owner.id}`;
    const p_person = { kind: "phone", value: person.phone };
    for (const more of [{}, { p_after: `2020-01-01T00:00:00Z_${randomUUID()}` }]) {
      const { status, error } = await stolen.rpc("export_person", { p_public_id: site.siteId, p_person, ...more });
      expect([status, error?.message]).toEqual([403, "SIGN_IN_AGAIN"]);
    }
    expect(await proofs(site)).toHaveLength(0);
    // The preview gives the app hashes of every number that it found. Mutation: leave require_fresh_sign_in out of preview_erasure.
    const seen = await stolen.rpc("preview_erasure", { p_public_id: site.siteId, p_person });
    expect([seen.status, seen.error?.message, seen.data]).toEqual([403, "SIGN_IN_AGAIN", null]);
  });

  // Mutation: prove the first page only.
  test("leaves a line in the activity log, also when the first page is left out", async () => {
    const site = await sendingSite(app);
    const person = await leaveTraces(app, site);
    const door = ownersDoor(app, site);
    await textOf(exportPerson(door, { kind: "email", value: person.email }));
    await door.export({ kind: "visitor", value: person.visitor }, `2020-01-01T00:00:00Z_${randomUUID()}`);
    expect(await proofs(site)).toEqual([
      { actor_kind: "user", actor_id: app.owner.id, facts: { askedBy: "email" } },
      { actor_kind: "user", actor_id: app.owner.id, facts: { askedBy: "visitor" } },
    ]);
    const log = await callAs<{ entries: { kind: string }[] }>(
      app.db.sql,
      app.owner,
      (tx) => tx`select public.list_activity(${site.siteId}, ${tx.json({ kind: "exported" })})`,
    );
    expect(log.entries).toHaveLength(2);
  });
});

describe("the commands of whoever runs the installation", () => {
  test("show, export and erase, and ask for --yes first", async () => {
    const site = await sendingSite(app);
    const person = await leaveTraces(app, site);
    const { upstashUrl, upstashToken } = sharedStack();
    const run = (script: string, ...args: string[]) =>
      promisify(execFile)(process.execPath, [`scripts/${script}.ts`, "--site", site.siteId, "--phone", person.phone, ...args], {
        env: { ...process.env, DATABASE_URL: app.db.adminUrl, UPSTASH_REDIS_REST_URL: upstashUrl, UPSTASH_REDIS_REST_TOKEN: upstashToken },
      });
    expect((await run("privacy-erase")).stdout).toMatch(/1 {2}leads .*\n.*2 {2}sales/);
    expect(JSON.parse((await run("privacy-export")).stdout).leads).toHaveLength(1);
    expect(await cellsWith(app, person.traces)).not.toEqual([]);
    expect((await run("privacy-erase", "--yes")).stdout).toContain('"kind": "system"');
    expect(await cellsWith(app, person.traces)).toEqual([]);
    await expect(run("privacy-erase", "--email", "two@ways.test")).rejects.toMatchObject({ code: 2 });
  });
});
