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
  /** The conversion action of sealed conversions; owners choose another one now and then. */
  sealActionId: string;
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

/** As the simulator's accounts have them: two for sealed conversions, of which a site uses one at a time. */
const sealActionIds = ["1005", "1001"] as const;
const actionIds = { MEETING_BOOKED: "1004", SEAL_PENDING: "1003", INTENT_CAPTURED: "1002" } as const;

export async function createStormSites(stack: StormStack): Promise<StormSite[]> {
  const owner = await createPerson(stack.sql(), "owner@storm.test");
  const sites: StormSite[] = [];
  for (const [index, { name, transport = "data_manager", method = "api", uploads, adjustments, settings }] of plans.entries()) {
    const customerId = String(2_000_000_001 + index);
    await stack.google.putAccount({ customerId, ...(uploads && { uploads }), ...(adjustments && { adjustments }) });
    const team = await createQueueTeam(stack.sql(), name, owner, method);
    if (settings) await deliverySettings(stack.sql(), team, settings);
    const site: StormSite = { name, team, customerId, transport, token: 0, isRevoked: false, method, sealActionId: sealActionIds[0] };
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

/** From now on sealed conversions go to the other action. What was sent before stays where it is. */
export async function chooseOtherAction(stack: StormStack, site: StormSite): Promise<void> {
  site.sealActionId = sealActionIds.find((id) => id !== site.sealActionId) ?? sealActionIds[0];
  const { owner, publicId } = site.team;
  const actions = actionsOf(site);
  await callAs(stack.sql(), owner, (tx) => tx`select public.set_conversion_actions(${publicId}, ${tx.json(actions)})`, stack.clock.now());
}

function actionsOf({ customerId, sealActionId }: StormSite) {
  const ids: Record<keyof typeof defaultNames, string> = { ...actionIds, seal: sealActionId };
  const names = Object.entries(defaultNames) as [keyof typeof defaultNames, string][];
  return names.map(([kind, conversionName]) => ({
    conversionName,
    action: `customers/${customerId}/conversionActions/${ids[kind]}`,
    countingType: "MANY_PER_CLICK",
  }));
}

async function connectionOf(site: StormSite, transport: Transport, token: string): Promise<ConnectionOptions> {
  // Imported late: the vault's key is read from the environment, which the storm sets.
  const { sealCredentials } = await import("#lib/providers/credentials.ts");
  const credentials = {
    customer_id: site.customerId,
    client_id: demoClient.clientId,
    client_secret: demoClient.clientSecret,
    refresh_token: token,
    conversion_action_resource_name: `customers/${site.customerId}/conversionActions/${site.sealActionId}`,
    transport,
  };
  return {
    transport,
    actions: actionsOf(site),
    ...sealCredentials(credentials, site.team.siteId, "google_ads"),
  };
}

/** The owner lets the site send by its script, or by the API it is connected to. */
export async function switchDelivery(stack: StormStack, site: StormSite, to: "script" | "api"): Promise<void> {
  const { owner, publicId } = site.team;
  await callAs(stack.sql(), owner, (tx) => tx`select public.switch_delivery(${publicId}, ${to})`, stack.clock.now());
  site.method = to;
}
