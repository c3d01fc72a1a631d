import { NextRequest } from "next/server";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { POST as acceptInvitation } from "#app/api/invitations/[invitationId]/accept/route.ts";
import { POST as declineInvitation } from "#app/api/invitations/[invitationId]/decline/route.ts";
import { PATCH as narrowKey, DELETE as revokeKey } from "#app/api/sites/[siteId]/api-keys/[keyId]/route.ts";
import { POST as createKey } from "#app/api/sites/[siteId]/api-keys/route.ts";
import { POST as archive, DELETE as restore } from "#app/api/sites/[siteId]/archive/route.ts";
import { POST as callEventSecret } from "#app/api/sites/[siteId]/call-event-secret/route.ts";
import { PATCH as setDelivery } from "#app/api/sites/[siteId]/delivery/route.ts";
import { DELETE as withdraw } from "#app/api/sites/[siteId]/invitations/[invitationId]/route.ts";
import { PATCH as changeRole, DELETE as removeMember } from "#app/api/sites/[siteId]/members/[userId]/route.ts";
import { POST as invite } from "#app/api/sites/[siteId]/members/route.ts";
import { PATCH as updateSite } from "#app/api/sites/[siteId]/route.ts";
import { POST as createSite } from "#app/api/sites/route.ts";
import type { SiteId } from "#lib/site.ts";
import { createPerson, createTeam, handOver, type Person, type Team } from "#tests/fixtures/team.ts";
import { appOrigin, useAppEnv } from "#tests/support/app-env.ts";
import { cookiesOf, fromOurPage, send } from "#tests/support/requests.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";
import { startTestGateway, type TestGateway } from "#tests/support/test-gateway.ts";
import proxy from "../../../proxy.ts";

let db: TestDatabase;
let gateway: TestGateway;
let team: Team;
let other: Team;
const cookies: Record<string, string> = {};

const site = { name: "Yeni", domains: ["yeni.test"], currency: "TRY", timezone: "Europe/Istanbul", locale: "tr", consentMode: "required" };
const newSite = { ...site, defaultAovCents: 180_000 };
const nobody = "0190b5a8-3f5c-7c1e-8a34-5f0f1c2d3e4f";

beforeAll(async () => {
  db = await createTestDatabase();
  gateway = await startTestGateway(db.adminUrl);
  useAppEnv({ database: db, gateway });
  team = await createTeam(db.sql, "ours");
  other = await handOver(db.sql, await createTeam(db.sql, "theirs", team.owner), "owner@elsewhere.test");
  for (const [name, person] of Object.entries({ owner: team.owner, operator: team.operator, viewer: team.viewer, outsider: other.owner })) {
    cookies[name] = await cookiesOf(gateway, person);
  }
});
afterAll(async () => {
  await gateway.stop();
  await db.drop();
});

interface SiteRoute {
  name: string;
  route: typeof createSite;
  method: string;
  params?: Record<string, string>;
  body?: unknown;
}

/** Every route of a site, with a body it accepts. */
const siteRoutes: SiteRoute[] = [
  { name: "PATCH site", route: updateSite, method: "PATCH", body: site },
  { name: "PATCH delivery", route: setDelivery, method: "PATCH", body: { defaultAovCents: 310_000 } },
  { name: "POST archive", route: archive, method: "POST" },
  { name: "DELETE archive", route: restore, method: "DELETE" },
  { name: "POST members", route: invite, method: "POST", body: { email: "new@person.test", role: "viewer" } },
  { name: "PATCH member", route: changeRole, method: "PATCH", params: { userId: nobody }, body: { role: "viewer" } },
  { name: "DELETE member", route: removeMember, method: "DELETE", params: { userId: nobody } },
  { name: "PATCH api key", route: narrowKey, method: "PATCH", params: { keyId: nobody }, body: { scopes: ["script"] } },
  { name: "DELETE invitation", route: withdraw, method: "DELETE", params: { invitationId: nobody } },
  { name: "POST api-keys", route: createKey, method: "POST", body: { name: "Script" } },
  { name: "DELETE api-key", route: revokeKey, method: "DELETE", params: { keyId: nobody } },
  { name: "POST call-event-secret", route: callEventSecret, method: "POST" },
];

describe.each(siteRoutes)("$name", ({ route, method, params, body }) => {
  const call = (who: string | undefined, siteId = team.siteId, extra: Record<string, string> = {}) =>
    send(route, {
      method,
      params: { siteId, ...params },
      headers: { ...fromOurPage(who && cookies[who]), ...extra },
      ...(body !== undefined && { body }),
    });

  test("without a session is 401", async () => {
    expect((await call(undefined)).status).toBe(401);
  });

  test("is for owners: operators and viewers get 403", async () => {
    // Leaving is for everyone; removing somebody who is not there is then a 404 of the database's.
    if (route === removeMember) return;
    for (const who of ["operator", "viewer"]) {
      const response = await call(who);
      expect([response.status, (await response.json()).code]).toEqual([403, "FORBIDDEN"]);
    }
  });

  // Guarantee: another customer's site cannot be told from one that does not exist.
  test("another's site answers exactly as an unknown one", async () => {
    const [theirs, unknown] = [await call("outsider"), await call("owner", "f".repeat(32) as SiteId)];
    expect(theirs.status).toBe(404);
    const [a, b] = [await theirs.json(), await unknown.json()];
    expect({ ...a, requestId: "" }).toEqual({ ...b, requestId: "" });
  });

  // Guarantee: a page of another site cannot make an owner's browser change anything, whatever content type it uses.
  test("from another site's page is 403 and changes nothing", async () => {
    const forged: Record<string, string>[] = [
      { origin: "https://evil.test", "sec-fetch-site": "cross-site", "content-type": "text/plain" },
      { origin: "null" },
    ];
    const before = await everything();
    for (const headers of forged) {
      const response = await call("owner", team.siteId, headers);
      expect([response.status, (await response.json()).code]).toEqual([403, "CROSS_SITE_REQUEST"]);
    }
    expect(await everything()).toEqual(before);
  });
});

/** Everything that these routes could change. */
async function everything() {
  const [row] = await db.sql`select
    (select jsonb_agg(s order by s.id) from public.sites s) as sites, (select jsonb_agg(m order by m.user_id, m.site_id) from public.site_members m) as members,
    (select jsonb_agg(i order by i.id) from public.site_invitations i) as invitations, (select jsonb_agg(k order by k.id) from public.site_api_keys k) as keys,
    (select jsonb_agg(x order by x.site_id) from private.site_secrets x) as secrets`;
  return row;
}

test("an operator or a viewer removes nobody but themselves", async () => {
  for (const who of ["operator", "viewer"]) {
    const response = await send(removeMember, {
      method: "DELETE",
      params: { siteId: team.siteId, userId: team.owner.id },
      headers: fromOurPage(cookies[who]),
    });
    expect([response.status, (await response.json()).code]).toEqual([403, "FORBIDDEN"]);
  }
});

const asOwner = (input: Parameters<typeof send>[1]) => ({
  ...input,
  params: { siteId: team.siteId, ...input.params },
  headers: fromOurPage(cookies.owner),
});

test("an owner creates, changes, archives and restores a site", async () => {
  const created = await send(createSite, { body: newSite, headers: fromOurPage(cookies.owner) });
  expect(created.status).toBe(200);
  const { siteId } = await created.json();
  // Guarantee: a new site's average order is its owner's, and its conversions have names that a person can read in Google Ads.
  const [stored] = await db.sql`
    select s.default_aov_cents::int as cents, s.conversion_names ->> 'seal' as seal,
      (select count(*)::int from public.transition_proofs p where p.site_id = s.id) as lines
    from public.sites s where s.public_id = ${siteId}`;
  expect(stored).toEqual({ cents: 180_000, seal: "Kesinleşen satış (OpsMantik)", lines: 1 });
  const changed = await send(updateSite, {
    method: "PATCH",
    params: { siteId },
    body: { ...site, name: "Adı değişti" },
    headers: fromOurPage(cookies.owner),
  });
  expect(await changed.json()).toEqual({ ok: true });
  const inEuros = (more: Record<string, unknown>) =>
    send(updateSite, {
      method: "PATCH",
      params: { siteId },
      body: { ...site, currency: "EUR", ...more },
      headers: fromOurPage(cookies.owner),
    });
  const refused = await inEuros({});
  expect([refused.status, await refused.json()]).toMatchObject([400, { code: "VALIDATION_FAILED", field: "defaultAovCents" }]);
  expect(await (await inEuros({ defaultAovCents: null })).json()).toMatchObject({
    errors: [{ field: "defaultAovCents", code: "REQUIRED" }],
  });
  expect((await inEuros({ defaultAovCents: 9000 })).status).toBe(200);
  for (const route of [archive, restore]) {
    expect((await send(route, { params: { siteId }, headers: fromOurPage(cookies.owner) })).status).toBe(200);
  }
});

test("a bad body names each wrong field", async () => {
  const response = await send(createSite, {
    body: { ...newSite, name: "", domains: ["ok.test", "not a domain"], currency: "lira" },
    headers: fromOurPage(cookies.owner),
  });
  expect(response.status).toBe(400);
  expect(response.headers.get("content-type")).toBe("application/problem+json");
  const problem = await response.json();
  expect(problem).toMatchObject({ code: "VALIDATION_FAILED", requestId: response.headers.get("x-request-id") });
  expect(problem.errors.map((error: { field: string; code: string }) => [error.field, error.code])).toEqual([
    ["name", "REQUIRED"],
    ["domains.1", "INVALID_DOMAIN"],
    ["currency", "INVALID_CURRENCY"],
  ]);
});

test("whoever owns nothing cannot create a site", async () => {
  expect((await send(createSite, { body: newSite, headers: fromOurPage(cookies.viewer) })).status).toBe(403);
});

test("an invited person gets a mail, accepts, works in the role, and leaves", async () => {
  const email = "yeni.kisi@person.test";
  const invited = await send(invite, asOwner({ body: { email, role: "operator" } }));
  const { invitationId, mailed } = await invited.json();
  expect(mailed).toBe(true);
  expect(gateway.mailbox.mails()[0]).toMatchObject({ to: email });
  const [account] = await db.sql`select id from auth.users where email = ${email}`;
  expect(account).toBeDefined();

  const person = await existing(email);
  const accepted = await send(acceptInvitation, { params: { invitationId }, headers: fromOurPage(await cookiesOf(gateway, person)) });
  expect(await accepted.json()).toEqual({ siteId: team.siteId });
  const again = await send(acceptInvitation, { params: { invitationId }, headers: fromOurPage(await cookiesOf(gateway, person)) });
  expect(again.status).toBe(404);

  const conflict = await send(invite, asOwner({ body: { email, role: "viewer" } }));
  expect([conflict.status, (await conflict.json()).code]).toEqual([409, "ALREADY_MEMBER"]);
  expect((await send(changeRole, asOwner({ method: "PATCH", params: { userId: person.id }, body: { role: "viewer" } }))).status).toBe(200);
  expect((await send(removeMember, asOwner({ method: "DELETE", params: { userId: person.id } }))).status).toBe(200);
});

/** The account that the invitation made, with a confirmed address and a password, as after its link was used. */
async function existing(email: string): Promise<Person> {
  await db.sql`update auth.users set email_confirmed_at = now(),
    encrypted_password = extensions.crypt('correct-horse-battery', extensions.gen_salt('bf', 4)) where email = ${email}`;
  return createPerson(db.sql, email);
}

test("declining is for the invited person; the last owner stays", async () => {
  const { invitationId } = await (await send(invite, asOwner({ body: { email: other.owner.email, role: "viewer" } }))).json();
  expect((await send(declineInvitation, { params: { invitationId }, headers: fromOurPage(cookies.viewer) })).status).toBe(404);
  expect((await send(declineInvitation, { params: { invitationId }, headers: fromOurPage(cookies.outsider) })).status).toBe(200);
  const last = await send(removeMember, asOwner({ method: "DELETE", params: { userId: team.owner.id } }));
  expect([last.status, (await last.json()).code]).toEqual([409, "LAST_OWNER"]);
});

test("a key is shown by the answer that makes it, and can be narrowed and revoked", async () => {
  const made = await (await send(createKey, asOwner({ body: { name: "CRM", scopes: ["sales", "calls"] } }))).json();
  expect(made.key).toMatch(/^om_/);
  const narrowTo = (scopes: string[]) => send(narrowKey, asOwner({ method: "PATCH", params: { keyId: made.id }, body: { scopes } }));
  expect(await (await narrowTo(["sales"])).json()).toEqual({ scopes: ["sales"] });
  const wider = await narrowTo(["sales", "calls"]);
  expect([wider.status, (await wider.json()).code]).toEqual([409, "SCOPE_NOT_HELD"]);
  expect((await narrowTo([])).status).toBe(400);
  expect((await send(revokeKey, asOwner({ method: "DELETE", params: { keyId: made.id } }))).status).toBe(200);
});

// Guarantee: whoever signs in again stays signed in. A request that was under way meanwhile is refused, and its answer leaves the cookies alone:
// it took the new session's away, and with it a page that showed a key once.
// Mutation that breaks it: a guard, or the proxy, without refreshOnly.
test("a request of a session that has ended is refused and ends no other", async () => {
  const late = await createPerson(db.sql, "late@routes.test");
  const cookie = await cookiesOf(gateway, late);
  await db.sql`delete from auth.sessions where user_id = ${late.id}`;
  const answer = await send(createSite, { body: newSite, headers: fromOurPage(cookie) });
  expect(answer.status).toBe(401);
  expect(answer.headers.get("set-cookie")).toBeNull();
  // A page refreshes the session once its token is about to expire.
  const [name = "", value = ""] = cookie.split("=", 2);
  const session = JSON.parse(Buffer.from(decodeURIComponent(value).replace("base64-", ""), "base64url").toString());
  const due = `base64-${Buffer.from(JSON.stringify({ ...session, expires_at: 1 })).toString("base64url")}`;
  const page = await proxy(new NextRequest(new URL("/dashboard", appOrigin), { headers: { cookie: `${name}=${due}` } }));
  expect(page.headers.get("set-cookie")).toBeNull();
});
