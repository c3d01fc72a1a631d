import { demoClient } from "#scripts/local/google/accounts.ts";
import { type ConnectionOptions, connectApi, defaultNames } from "#tests/support/connections.ts";
import { createQueueTeam, deliverySettings } from "#tests/support/queue.ts";
import { callAs, createPerson, type Team } from "#tests/support/team.ts";
import type { StormStack } from "./storm-stack.ts";

type Transport = "data_manager" | "ads_api";
type Access = "allowed" | "not_allowlisted" | "denied";

/** A customer: a site, and its Google Ads account. */
export interface StormSite {
  name: string;
  team: Team;
  customerId: string;
  transport: Transport;
  /** Grows with each reconnection; the account knows the newest only. */
  token: number;
  isRevoked: boolean;
  method: "script" | "api";
}

interface SitePlan {
  name: string;
  transport?: Transport;
  method?: "script" | "api";
  uploads?: Access;
  adjustments?: Access;
  settings?: Record<string, unknown>;
}

const plans: SitePlan[] = [
  { name: "data-manager", settings: { signalsEnabled: true } },
  { name: "ads-api", transport: "ads_api", uploads: "allowed", settings: { sendDelayMinutes: 10 } },
  { name: "no-adjustments", adjustments: "denied" },
  { name: "not-allowlisted", adjustments: "not_allowlisted" },
  { name: "switching", method: "script", uploads: "allowed" },
  { name: "changing", uploads: "allowed" },
];

/** The action of sealed conversions, as the simulator's accounts have it. */
export const sealActionId = "1005";
const actionIds = { seal: sealActionId, MEETING_BOOKED: "1004", SEAL_PENDING: "1003", INTENT_CAPTURED: "1002" } as const;

export async function createStormSites(stack: StormStack): Promise<StormSite[]> {
  const owner = await createPerson(stack.sql(), "owner@storm.test");
  const sites: StormSite[] = [];
  for (const [index, { name, transport = "data_manager", method = "api", uploads, adjustments, settings }] of plans.entries()) {
    const customerId = String(2_000_000_001 + index);
    await stack.google.putAccount({ customerId, ...(uploads && { uploads }), ...(adjustments && { adjustments }) });
    const team = await createQueueTeam(stack.sql(), name, owner, method);
    if (settings) await deliverySettings(stack.sql(), team, settings);
    const site: StormSite = { name, team, customerId, transport, token: 0, isRevoked: false, method };
    await reconnect(stack, site, transport);
    sites.push(site);
  }
  return sites;
}

/** The owner gives the site a new refresh token, and perhaps another way to Google. */
export async function reconnect(stack: StormStack, site: StormSite, transport: Transport): Promise<void> {
  site.token += 1;
  const token = `1//${site.name}-${site.token}`;
  await stack.google.putAccount({ customerId: site.customerId, refreshTokens: [token] });
  await connectApi(stack.sql(), site.team, { ...(await connectionOf(site, transport, token)), at: stack.clock.now() });
  Object.assign(site, { transport, isRevoked: false });
}

/** Google forgets the site's access: the next token is refused. */
export async function revoke(stack: StormStack, site: StormSite): Promise<void> {
  await stack.google.putAccount({ customerId: site.customerId, refreshTokens: [] });
  site.isRevoked = true;
}

async function connectionOf({ customerId, team }: StormSite, transport: Transport, token: string): Promise<ConnectionOptions> {
  // Imported late: the vault's key is read from the environment, which the storm sets.
  const { sealCredentials } = await import("#lib/providers/credentials.ts");
  const action = (id: string) => `customers/${customerId}/conversionActions/${id}`;
  const names = Object.entries(defaultNames) as [keyof typeof actionIds, string][];
  const credentials = {
    customer_id: customerId,
    client_id: demoClient.clientId,
    client_secret: demoClient.clientSecret,
    refresh_token: token,
    conversion_action_resource_name: action(sealActionId),
    transport,
  };
  return {
    transport,
    actions: names.map(([kind, conversionName]) => ({ conversionName, action: action(actionIds[kind]), countingType: "MANY_PER_CLICK" })),
    ...sealCredentials(credentials, team.siteId, "google_ads"),
  };
}

/** The owner lets the site send by its script, or by the API it is connected to. */
export async function switchDelivery(stack: StormStack, site: StormSite, to: "script" | "api"): Promise<void> {
  const { owner, publicId } = site.team;
  await callAs(stack.sql(), owner, (tx) => tx`select public.switch_delivery(${publicId}, ${to})`, stack.clock.now());
  site.method = to;
}
