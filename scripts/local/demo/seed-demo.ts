/** Demo data: two sites, three people. Made by calling the product's own functions, as the people and at the times it shows. */

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import postgres from "postgres";
import type { SiteId } from "#lib/site.ts";
import { type KeyRing, keyRing } from "#lib/vault/secret.ts";
import { createKey, createSite, makeCallSecret, type Site } from "#tests/fixtures/site.ts";
import { createPerson, join as joinTeam, type Team } from "#tests/fixtures/team.ts";
import type { Stack } from "../stack.ts";
import { seedBilling } from "./seed-billing.ts";
import { seedLeads } from "./seed-leads.ts";
import { seedQueue } from "./seed-queue.ts";

interface DemoSite {
  siteId: SiteId;
  domain: string;
  syncMethod: "script" | "api";
  /** The script's key on a site that sends by script, else the CRM's. */
  apiKey: string;
  /** Moves leads and sales; the script's key cannot. */
  crmKey: string;
  callEventSecret: string;
}

interface DemoUser {
  email: string;
  password: string;
  role: "owner" | "operator" | "viewer";
}

export interface DemoSeed {
  sites: DemoSite[];
  users: DemoUser[];
}

const password = "opsmantik-demo";
const people = [
  { email: "owner@opsmantik.demo", name: "Deniz Aydın", role: "owner" },
  { email: "operator@opsmantik.demo", name: "Elif Demir", role: "operator" },
  { email: "viewer@opsmantik.demo", name: "Murat Kaya", role: "viewer" },
] as const;
const businesses = [
  {
    name: "Akdere Kombi Servisi",
    domains: ["akderekombi.com.tr", "localhost"],
    currency: "TRY",
    timezone: "Europe/Istanbul",
    locale: "tr",
    syncMethod: "script",
  },
  {
    name: "Harbour Dental",
    domains: ["harbourdental.co.uk", "localhost"],
    currency: "GBP",
    timezone: "Europe/London",
    locale: "en",
    syncMethod: "api",
  },
] as const;
type Business = (typeof businesses)[number];

const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000);

/** Seeds once; a later start finds its own notes beside the data, since an API key cannot be read back. */
export async function seedDemo(stack: Pick<Stack, "adminUrl" | "stateDir" | "env">): Promise<DemoSeed> {
  const notesPath = join(stack.stateDir, "demo-seed.json");
  const sql = postgres(stack.adminUrl, { max: 1, onnotice: () => {} });
  try {
    if (existsSync(notesPath)) {
      const notes: DemoSeed = JSON.parse(readFileSync(notesPath, "utf8"));
      const known = await sql`select from public.sites where public_id = any(${notes.sites.map((site) => site.siteId)})`;
      if (known.length === businesses.length) return notes;
    }
    const seed = await seedAll(sql, keyRing(stack.env));
    writeFileSync(notesPath, `${JSON.stringify(seed, null, 2)}\n`, { mode: 0o600 });
    return seed;
  } finally {
    await sql.end();
  }
}

async function seedAll(sql: postgres.Sql, ring: KeyRing): Promise<DemoSeed> {
  const [owner, operator, viewer] = await Promise.all(people.map(({ email, name }) => createPerson(sql, email, { password, name })));
  if (!owner || !operator || !viewer) throw new Error("The demo has three people.");
  const teams: Team[] = [];
  const sites: DemoSite[] = [];
  for (const business of businesses) {
    const team = await seedTeam(sql, { owner, operator, viewer }, business);
    teams.push(team);
    sites.push(await describeSite(sql, team, { ...business, ring }));
  }
  await seedLeads(sql, sites, { people: { owner: owner.id, operator: operator.id }, ring }); // before billing, whose events are left to the worker
  if (teams[0]) await seedQueue(sql, teams[0]); // the site that sends by script
  await seedBilling(sql, sites);
  return { sites, users: people.map(({ email, role }) => ({ email, password, role })) };
}

/** The site and its people, each joining as they would; or the one that an interrupted start left. */
async function seedTeam(sql: postgres.Sql, crew: Pick<Team, "owner" | "operator" | "viewer">, business: Business): Promise<Team> {
  const [known] = await sql<Site[]>`
    select public_id as "siteId", id as "siteUuid" from public.sites where name = ${business.name} and created_by = ${crew.owner.id}`;
  if (known) return { ...known, ...crew };
  const team = { ...(await createSite(sql, crew.owner, { ...business, at: daysAgo(45) })), ...crew };
  await joinTeam(sql, team, crew.operator, "operator", { invitedAt: daysAgo(44), acceptedAt: daysAgo(43) });
  await joinTeam(sql, team, crew.viewer, "viewer", { invitedAt: daysAgo(44), acceptedAt: daysAgo(42) });
  return team;
}

async function describeSite(
  sql: postgres.Sql,
  team: Team,
  { domains, syncMethod, ring }: Pick<Business, "domains" | "syncMethod"> & { ring: KeyRing },
): Promise<DemoSite> {
  const at = daysAgo(40);
  const { key: crmKey } = await createKey(sql, team, ["calls", "sales", "contracts"], { name: "CRM", at });
  const script = syncMethod === "script" ? await createKey(sql, team, ["script"], { name: "Google Ads komut dosyası", at }) : undefined;
  const callEventSecret = await makeCallSecret(sql, team, { ring, at });
  return { siteId: team.siteId, domain: domains[0], syncMethod, apiKey: script?.key ?? crmKey, crmKey, callEventSecret };
}
