/** Two more sites of the demo's owner, each with a Google account of its own, so that what goes wrong there disturbs nobody's story. */
import type postgres from "postgres";
import type { SessionClient } from "#lib/db/session-client.ts";
import type { SiteId } from "#lib/site.ts";
import { createKey, createSite, deliverySettings, sendAtOnce } from "#tests/fixtures/site.ts";
import { connectDemo } from "../../connect-demo.ts";
import type { StoryNotes, TroubledSite } from "../story-notes.ts";

const sites = {
  towing: {
    name: "Poyraz Oto Kurtarma",
    domain: "poyrazkurtarma.com.tr",
    currency: "TRY",
    timezone: "Europe/Istanbul",
    locale: "tr",
    customerId: "5550001111",
    visit: { page: "/yol-yardim", campaign: "Yol yardım - E5", term: "oto çekici maltepe" },
    sale: { amountCents: 280_000, note: "Çekici" },
  },
  locksmith: {
    name: "Fenland Locksmiths",
    domain: "fenlandlocks.co.uk",
    currency: "GBP",
    timezone: "Europe/London",
    locale: "en",
    customerId: "5550002222",
    visit: { page: "/emergency", campaign: "Locked out - Cambridge", term: "emergency locksmith cambridge" },
    sale: { amountCents: 14_500, note: "Lock replaced" },
  },
} as const;
export type TroubledName = keyof typeof sites;

/** Everything about one of the sites, made when it is first asked for. */
export type OpenSite = (typeof sites)[TroubledName] & TroubledSite;

interface Owner {
  id: string;
  /** Signed in. */
  db: SessionClient;
}

export interface SiteOpening {
  sql: postgres.Sql;
  googleUrl: string;
  notes: StoryNotes;
  owner: Owner;
}

export async function openTroubledSite(opening: SiteOpening, name: TroubledName): Promise<OpenSite> {
  const { notes } = opening;
  const known = notes.now.troubledSites[name];
  if (known) return { ...sites[name], ...known };
  const made = await makeSite(opening, name);
  notes.change({ troubledSites: { ...notes.now.troubledSites, [name]: made } });
  return { ...sites[name], ...made };
}

async function makeSite(opening: SiteOpening, name: TroubledName): Promise<TroubledSite> {
  const { sql, owner } = opening;
  const { domain, customerId, name: siteName, currency, timezone, locale, sale } = sites[name];
  const site = { name: siteName, domains: [domain], currency, timezone, locale, syncMethod: "api" } as const;
  const { siteId } = await createSite(sql, owner, site);
  const { key: crmKey } = await createKey(sql, { siteId, owner }, ["sales"], { name: "CRM" });
  await deliverySettings(sql, { siteId, owner }, { ...sendAtOnce, defaultAovCents: sale.amountCents });
  await connectOwnAccount(opening, { siteId, customerId, name: siteName, currency });
  return { siteId, crmKey };
}

interface NewAccount {
  siteId: SiteId;
  customerId: string;
  name: string;
  currency: string;
}

/** A new account of the simulated Google, which has the conversion actions that the site names, the seal's last. */
export async function openAccount({ sql, googleUrl }: Pick<SiteOpening, "sql" | "googleUrl">, { siteId, ...account }: NewAccount) {
  const names = await sql`select private.conversion_name(s, k.key) as name from public.sites s, unnest(private.conversion_keys()) k (key)
    where s.public_id = ${siteId} order by k.key = 'seal'`;
  const conversionActions = names.map(({ name }, index) => ({ id: String(1001 + index), name: String(name) }));
  const refreshToken = `1//${account.customerId}`;
  // Of its own: Data Manager counts requests by OAuth client, so a rate limit here would stop the demo's other sites, too.
  const client = { clientId: `${account.customerId}.apps.googleusercontent.com`, clientSecret: "demo-client-secret" };
  await tellGoogle(googleUrl, "accounts", { ...account, conversionActions, refreshTokens: [refreshToken], client });
  return { refreshToken, client };
}

/** Connects a site with a new account of its own. */
export async function connectOwnAccount(opening: Omit<SiteOpening, "notes">, account: NewAccount): Promise<void> {
  const { googleUrl, owner } = opening;
  const { siteId, customerId } = account;
  const site = { siteId, syncMethod: "api", customerId, ...(await openAccount(opening, account)) } as const;
  const { chooseActions, connectGoogleAds } = await import("#lib/delivery/connect.ts");
  await connectDemo({ sites: [site] }, googleUrl, async ({ credentials, actions }) => {
    const { connected, test } = await connectGoogleAds(owner.db, siteId, credentials);
    if (!connected) throw new Error(`The simulated Google refuses ${account.name}: ${test.error?.message}`);
    await chooseActions(owner.db, siteId, actions);
  });
}

export async function tellGoogle(googleUrl: string, path: "accounts" | "faults", body: object): Promise<void> {
  const answer = await fetch(`${googleUrl}/__sim/${path}`, { method: "POST", body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`The simulated Google refuses ${path}: ${await answer.text()}`);
}
