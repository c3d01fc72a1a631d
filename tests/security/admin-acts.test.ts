import { createHash } from "node:crypto";
import type postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { z } from "zod";
import type { activityPage } from "#lib/contracts/activity.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { actionOf, connectApi, defaultActions } from "#tests/fixtures/connections.ts";
import { service } from "#tests/fixtures/service.ts";
import { createKey, createSite, pauseSending } from "#tests/fixtures/site.ts";
import { createPerson, createTeam, join, type Person, type Team } from "#tests/fixtures/team.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

type Page = z.output<typeof activityPage>;
type Tx = postgres.TransactionSql;

let db: TestDatabase;
let team: Team;

beforeAll(async () => {
  db = await createTestDatabase();
  team = await createTeam(db.sql, "acts");
});
afterAll(() => db.drop());

const log = (person: Person = team.owner, filter: Record<string, unknown> = {}, of: { siteId: string } = team) =>
  callAs<Page>(db.sql, person, (tx) => tx`select public.list_activity(${of.siteId}, ${tx.json({ limit: 500, ...filter } as never)})`);
const asOwner = (call: (tx: Tx) => postgres.PendingQuery<postgres.Row[]>) => callAs(db.sql, team.owner, call);
const plan = (name: string) =>
  service(db.sql, "set_site_plan", {
    ...{ p_public_id: team.siteId, p_name: name, p_monthly_limit: 1000, p_enforcement: "soft", p_currency: "TRY" },
  });

/** Tables that hold no setting, right or secret of a site. A new table belongs here or gets the trigger. */
const notAdministrative = [
  "private.action_names",
  "private.person_addresses",
  "private.plan_changes",
  "private.proof_notes",
  "private.setup_tests",
  "private.setup_ticks",
  "private.unsealed_proofs",
];
const administrative = [
  "private.site_ceilings",
  "private.site_retention",
  "private.site_secrets",
  "public.provider_conversion_actions",
  "public.provider_credentials",
  "public.site_api_keys",
  "public.site_invitations",
  "public.site_members",
  "public.site_plans",
  "public.sites",
];

describe("every administrative act leaves a line", () => {
  // Guarantee: whoever takes over an account cannot make a key, a member or a setting that nobody sees afterwards.
  // A table of settings that is added later is named here by the functions of owners that write to it.
  test("every table that an owner's function writes to has the trigger", async () => {
    const watched = await db.sql<{ name: string }[]>`
      select t.tgrelid::regclass::text as name from pg_trigger t where t.tgname = 'acts_leave_a_line' order by 1`;
    expect(watched.map(({ name }) => name.replace(/^(?!private)(?!public)/, "public."))).toEqual(administrative);
    const written = await db.sql<{ name: string }[]>`
      select distinct m[1] as name
      from pg_proc p
      cross join regexp_matches(p.prosrc, ${String.raw`\m(?:insert into|update|delete from)\s+((?:public|private)\.\w+)`}, 'g') m
      where p.pronamespace in ('public'::regnamespace, 'private'::regnamespace)
        and p.prosrc ~ ${String.raw`require_(open_|fresh_)?site\([^)]*'owner'\)`}
      order by 1`;
    const known = new Set([...administrative, ...notAdministrative, "public.provider_health_state"]);
    expect(written.map(({ name }) => name).filter((name) => !known.has(name))).toEqual([]);
    expect(written.length).toBeGreaterThan(4);
  });

  const acts: [string, () => Promise<unknown>, Record<string, unknown>][] = [
    ["a key is made", () => createKey(db.sql, team, ["sales"], { name: "CRM" }), { kind: "key", to: "made", note: "CRM" }],
    ["a key loses scopes", () => narrow(), { kind: "key", to: "narrowed", note: "Wide" }],
    ["a key is revoked", () => revoke(), { kind: "key", to: "revoked", note: "Lost" }],
    ["somebody is invited", () => invite("new@acts.test"), { kind: "invitation", to: "invited", role: "viewer", note: "new@acts.test" }],
    ["somebody is invited again", () => invite("new@acts.test"), { kind: "invitation", from: "invited", to: "invited" }],
    ["an invitation is withdrawn", () => withdraw("new@acts.test"), { kind: "invitation", to: "withdrawn", note: "new@acts.test" }],
    ["a role changes", () => setRole("operator", "viewer"), { kind: "member", from: "operator", to: "viewer" }],
    ["a member is removed", () => removeViewer(), { kind: "member", from: "viewer", to: "removed", note: "viewer@acts.test" }],
    [
      "the secret is replaced",
      () => asOwner((tx) => tx`select public.replace_call_event_secret(${team.siteId}, ${"k1"}, ${"sealed"})`),
      { kind: "secret" },
    ],
    ["the consent mode changes", () => privacy("required"), { kind: "consent", from: "off", to: "required" }],
    [
      "a switch of delivery changes",
      () => delivery({ signalsEnabled: true }),
      { kind: "delivery", changes: { signals_enabled: [false, true] } },
    ],
    [
      "conversions are renamed",
      () => delivery({ conversionNames: { seal: "Sale" } }),
      { kind: "delivery", changes: { "conversion_names.seal": [null, "Sale"] } },
    ],
    ["names and domains change", () => rename(), { kind: "settings", changes: { name: ["acts", "Acts Ltd"] } }],
    ["Google Ads is connected", () => connectApi(db.sql, team), { kind: "connected", from: "disconnected" }],
    ["credentials are replaced", () => connectApi(db.sql, team, { clientIdTail: "other" }), { kind: "connected", from: "connected" }],
    ["conversion actions are chosen", () => chooseActions(), { kind: "actions", to: "chosen" }],
    [
      "delivery is switched",
      () => asOwner((tx) => tx`select public.switch_delivery(${team.siteId}, 'api')`),
      { kind: "switched", to: "api" },
    ],
    [
      "sending is paused",
      () => pauseSending(db.sql, team, new Date(Date.now() + 3_600_000)),
      { kind: "delivery", to: "paused", changes: expect.objectContaining({ pause_reason: [null, "Wrong values"] }) },
    ],
    ["sending goes on", () => pauseSending(db.sql, team, null), { kind: "delivery", to: "resumed" }],
    ["Google Ads is disconnected", () => asOwner((tx) => tx`select public.disconnect_provider(${team.siteId})`), { kind: "disconnected" }],
    ["a plan is set", () => plan("Start"), { kind: "plan", from: "Open", to: "Start", actorKind: "system" }],
    ["a plan is replaced", () => plan("Growth"), { kind: "plan", from: "Start", to: "Growth" }],
    ["the site is archived", () => archive(true), { kind: "site", to: "archived" }],
    ["the site is restored", () => archive(false), { kind: "site", to: "restored" }],
  ];
  // One after the other: each begins where the one before ended.
  test.each(acts)("%s: exactly one line", async (_name, act, line) => {
    await prepare.get(_name)?.();
    const before = new Set((await log()).entries.map(({ id }) => id));
    await act();
    const lines = (await log()).entries.filter(({ id }) => !before.has(id));
    expect(lines).toEqual([expect.objectContaining(line)]);
    expect(lines[0]?.actorName).toBe(lines[0]?.actorKind === "system" ? null : team.owner.email);
    expect(JSON.stringify(lines)).not.toContain(team.siteUuid);
  });

  test("joining, declining, leaving and a new site leave one line each", async () => {
    const kinds = async (act: () => Promise<unknown>, siteId = team.siteId) => {
      const before = new Set((await log(team.owner, {}, { siteId })).entries.map(({ id }) => id));
      await act();
      const added = (await log(team.owner, {}, { siteId })).entries.filter(({ id }) => !before.has(id));
      return added.map(({ kind, from, to, actorName }) => [kind, from, to, actorName]);
    };
    const eve = await createPerson(db.sql, "eve@acts.test");
    const { invitationId } = await invite(eve.email);
    const answer = (call: (tx: Tx) => postgres.PendingQuery<postgres.Row[]>) => callAs(db.sql, eve, call);
    expect(await kinds(() => answer((tx) => tx`select public.decline_invitation(${invitationId})`))).toEqual([
      ["invitation", "invited", "declined", eve.email],
    ]);
    const again = await invite(eve.email);
    expect(await kinds(() => answer((tx) => tx`select public.accept_invitation(${again.invitationId})`))).toEqual([
      ["member", null, "viewer", eve.email],
    ]);
    expect(await kinds(() => answer((tx) => tx`select public.remove_member(${team.siteId}, ${eve.id})`))).toEqual([
      ["member", "viewer", "left", eve.email],
    ]);
    const other = await createSite(db.sql, team.owner, { name: "second" });
    expect((await log(team.owner, {}, other)).entries.map(({ kind, to }) => [kind, to])).toEqual([["site", "created"]]);
  });

  test("what changes nothing leaves no line: a repeated plan, the same settings, the use of a key", async () => {
    const key = await createKey(db.sql, team);
    const before = (await log()).entries.length;
    await plan("Growth");
    await delivery({ signalsEnabled: true });
    await service(db.sql, "authenticate_api_key", { p_key_hash: sha256(key.key), p_scopes: ["script"] });
    expect((await log()).entries).toHaveLength(before);
  });
});

describe("the past stays as it was", () => {
  // Guarantee: somebody who renames their account to the owner's name cannot put the blame on the owner.
  test("a new display name or address rewrites no line; the id stays", async () => {
    const mallory = await createPerson(db.sql, "mallory@acts.test", { name: "Mallory" });
    await join(db.sql, team, mallory, "owner");
    await callAs(db.sql, mallory, (tx) => tx`select public.create_site_api_key(${team.siteId}, 'Backdoor')`);
    await db.sql`update auth.users set raw_user_meta_data = '{"full_name": "Owner"}', email = 'innocent@acts.test' where id = ${mallory.id}`;
    const [line] = (await log(team.owner, { actor: mallory.id, kind: "key" })).entries;
    expect(line).toMatchObject({ actorName: "mallory@acts.test", actorId: mallory.id, note: "Backdoor" });
    await callAs(db.sql, mallory, (tx) => tx`select public.create_site_api_key(${team.siteId}, 'Later')`);
    const [later] = (await log(team.owner, { actor: mallory.id, kind: "key" })).entries;
    expect(later).toMatchObject({ actorName: "innocent@acts.test", note: "Later" });
  });

  test("no line can be changed or deleted, not even by the database's owner", async () => {
    await expect(db.sql`delete from public.transition_proofs where contract = 'key'`).rejects.toMatchObject({
      message: "RECORD_IS_PERMANENT",
    });
    await expect(db.sql`update public.transition_proofs set actor_id = null`).rejects.toMatchObject({ message: "RECORD_IS_PERMANENT" });
  });

  test("a viewer reads no keys, addresses or prices in the log", async () => {
    const viewer = await createPerson(db.sql, "reader@acts.test");
    await join(db.sql, team, viewer, "viewer");
    const kinds = new Set((await log(viewer)).entries.map(({ kind }) => kind));
    expect([...kinds].sort()).toEqual(["connected", "disconnected", "switched"]);
    expect((await log(viewer, { kind: "key" })).entries).toEqual([]);
  });
});

const prepared: Record<string, string> = {};
const prepare = new Map<string, () => Promise<unknown>>([
  [
    "a key loses scopes",
    async () => Object.assign(prepared, { wide: (await createKey(db.sql, team, ["sales", "calls"], { name: "Wide" })).id }),
  ],
  ["a key is revoked", async () => Object.assign(prepared, { lost: (await createKey(db.sql, team, ["script"], { name: "Lost" })).id })],
]);
const narrow = () => asOwner((tx) => tx`select public.narrow_site_api_key(${team.siteId}, ${prepared.wide ?? ""}, '{sales}')`);
const revoke = () => asOwner((tx) => tx`select public.revoke_site_api_key(${team.siteId}, ${prepared.lost ?? ""})`);
const invite = (email: string) =>
  callAs<{ invitationId: string }>(db.sql, team.owner, (tx) => tx`select public.invite_site_member(${team.siteId}, ${email}, 'viewer')`);
const withdraw = async (email: string) => {
  const [open] = await db.sql`select id from public.site_invitations where email = ${email}`;
  return asOwner((tx) => tx`select public.withdraw_invitation(${team.siteId}, ${open?.id})`);
};
const setRole = (who: "operator", role: string) =>
  asOwner((tx) => tx`select public.change_member_role(${team.siteId}, ${team[who].id}, ${role})`);
const removeViewer = () => asOwner((tx) => tx`select public.remove_member(${team.siteId}, ${team.viewer.id})`);
const privacy = (mode: string) => asOwner((tx) => tx`select public.set_site_privacy(${team.siteId}, ${mode}, false)`);
const delivery = (settings: Record<string, unknown>) =>
  asOwner((tx) => tx`select public.set_site_delivery(${team.siteId}, ${tx.json(settings as never)})`);
const rename = () =>
  asOwner((tx) => tx`select public.update_site(${team.siteId}, 'Acts Ltd', ${["acts.test"]}, 'TRY', 'Europe/Istanbul', 'tr')`);
const archive = (archived: boolean) => asOwner((tx) => tx`select public.set_site_archived(${team.siteId}, ${archived})`);
const chooseActions = () => {
  const chosen = defaultActions.map((action, index) => ({ ...action, action: actionOf(index + 11) }));
  return asOwner((tx) => tx`select public.set_conversion_actions(${team.siteId}, ${tx.json(chosen)})`);
};
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
