/** Demo data: two sites, three people. Made by calling the product's own functions, as the people and at the times it shows. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import postgres from "postgres";
import type { KeyScope } from "#lib/tenancy/site-fields.ts";
import { actAs, createAuthUser } from "../postgres/auth-user.ts";
import type { Stack } from "../stack.ts";
import { seedBilling } from "./seed-billing.ts";
import { seedLeads } from "./seed-leads.ts";
import { seedQueue } from "./seed-queue.ts";

interface DemoSite {
  publicId: string;
  domain: string;
  syncMethod: "script" | "api";
  /** The script's key on a site that sends by script, else the CRM's. */
  apiKey: string;
  /** Moves leads and sales; the script's key can not. */
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

const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000);

/** Seeds once; a later start finds its own notes beside the data, since an API key cannot be read back. */
export async function seedDemo(stack: Pick<Stack, "adminUrl" | "stateDir">): Promise<DemoSeed> {
  const notesPath = join(stack.stateDir, "demo-seed.json");
  const sql = postgres(stack.adminUrl, { max: 1, onnotice: () => {} });
  try {
    if (existsSync(notesPath)) {
      const notes: DemoSeed = JSON.parse(readFileSync(notesPath, "utf8"));
      const known = await sql`select from public.sites where public_id = any(${notes.sites.map((site) => site.publicId)})`;
      if (known.length === businesses.length) return notes;
    }
    const seed = await seedAll(sql);
    writeFileSync(notesPath, `${JSON.stringify(seed, null, 2)}\n`, { mode: 0o600 });
    return seed;
  } finally {
    await sql.end();
  }
}

async function seedAll(sql: postgres.Sql): Promise<DemoSeed> {
  const ids: string[] = [];
  for (const person of people) ids.push(await createAuthUser(sql, { ...person, password }));
  const [ownerId = "", operatorId = "", ...others] = ids;
  const sites: DemoSite[] = [];
  for (const business of businesses) sites.push(await seedSite(sql, ownerId, [operatorId, ...others], business));
  await seedLeads(sql, sites, { owner: ownerId, operator: operatorId }); // before billing, whose events are left to the worker
  await seedConversions(sql, sites[0]?.publicId ?? "", ownerId, operatorId);
  await seedBilling(sql, sites);
  return { sites, users: people.map(({ email, role }) => ({ email, password, role })) };
}

/** The first site sends by script; what its operators sealed has gone out, or shows why not. */
async function seedConversions(sql: postgres.Sql, publicId: string, ownerId: string, operatorId: string): Promise<void> {
  const [site] = await sql`select id from public.sites where public_id = ${publicId}`;
  await seedQueue(sql, { publicId, siteId: String(site?.id), ownerId, operatorId });
}

async function seedSite(sql: postgres.Sql, ownerId: string, memberIds: string[], business: (typeof businesses)[number]): Promise<DemoSite> {
  const { name, domains, syncMethod } = business;
  const [known] = await sql`select public_id from public.sites where name = ${name} and created_by = ${ownerId}`;
  const publicId = known ? String(known.public_id) : await foundSite(sql, ownerId, memberIds, business);
  return actAs(
    sql,
    ownerId,
    async (tx) => {
      const newKey = async (keyName: string, scopes: KeyScope[]) => {
        const [key] = await tx`select public.create_site_api_key(${publicId}, ${keyName}, ${scopes}) as made`;
        return String(key?.made.key);
      };
      const crmKey = await newKey("CRM", ["calls", "sales", "contracts"]);
      const apiKey = syncMethod === "script" ? await newKey("Google Ads komut dosyası", ["script"]) : crmKey;
      const [secret] = await tx`select public.call_event_secret(${publicId}) as shown`;
      return { publicId, domain: domains[0], syncMethod, apiKey, crmKey, callEventSecret: String(secret?.shown.secret) };
    },
    daysAgo(40),
  );
}

/** The site and its team, each person joining as they would. */
async function foundSite(sql: postgres.Sql, ownerId: string, memberIds: string[], business: (typeof businesses)[number]): Promise<string> {
  const { name, domains, currency, timezone, locale, syncMethod } = business;
  const publicId = await actAs(
    sql,
    ownerId,
    async (tx) => {
      const [row] =
        await tx`select public.create_site(${name}, ${[...domains]}, ${currency}, ${timezone}, ${locale}, ${syncMethod}) as site`;
      return String(row?.site.publicId);
    },
    daysAgo(45),
  );
  for (const [index, memberId] of memberIds.entries()) {
    const person = people[index + 1];
    if (!person) continue;
    const invitationId = await actAs(
      sql,
      ownerId,
      async (tx) => {
        const [row] = await tx`select public.invite_site_member(${publicId}, ${person.email}, ${person.role}) as invitation`;
        return String(row?.invitation.invitationId);
      },
      daysAgo(44),
    );
    await actAs(sql, memberId, (tx) => tx`select public.accept_invitation(${invitationId})`, daysAgo(43 - index));
  }
  return publicId;
}
