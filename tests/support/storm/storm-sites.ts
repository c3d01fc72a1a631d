import { demoClient } from "#scripts/local/google/accounts.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { type ConnectionOptions, connectApi, defaultNames } from "#tests/fixtures/connections.ts";
import { createQueueTeam } from "#tests/fixtures/queue-team.ts";
import { deliverySettings, pauseSending, switchDelivery as switchTo } from "#tests/fixtures/site.ts";
import { createPerson, type Team } from "#tests/fixtures/team.ts";
import type { StormStack } from "./storm-stack.ts";

type Transport = "data_manager" | "ads_api";
type Access = "allowed" | "not_allowlisted" | "denied";

/** A customer: a site, and its Google Ads account. */
export interface StormSite {
  name: string;
  team: Team;
  /** The account that the site is connected to now. A script always runs in the first one. */
  customerId: string;
  accounts: readonly [string, string];
  transport: Transport;
  /** Grows with each reconnection; the account knows the newest only. */
  token: number;
  isRevoked: boolean;
  method: "script" | "api";
  pausedUntil: Date | null;
  /** The conversion action of sealed conversions, and what the site calls them; owners choose others now and then. */
  sealActionId: SealActionId;
  sealName: string;
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
  { name: "moving", uploads: "allowed" },
];

/** An account's conversion actions, by what Google calls them: two for sealed conversions, of which a site uses one at a time. */
const sealNames = { "1005": defaultNames.seal, "1006": "Sales of the desk" } as const;
type SealActionId = keyof typeof sealNames;
const actionNames: Record<string, string> = {
  "1002": defaultNames.INTENT_CAPTURED,
  "1003": defaultNames.SEAL_PENDING,
  "1004": defaultNames.MEETING_BOOKED,
  ...sealNames,
};
const conversionActions = Object.entries(actionNames).map(([id, name]) => ({ id, name }));
const otherOf = (id: SealActionId): SealActionId => (id === "1005" ? "1006" : "1005");

/** The action of this name in Google Ads. */
const actionIdOf = (name: string) => conversionActions.find((action) => action.name === name)?.id ?? "1005";

export async function createStormSites(stack: StormStack): Promise<StormSite[]> {
  const owner = await createPerson(stack.sql(), "owner@storm.test");
  const sites: StormSite[] = [];
  for (const [index, { name, transport = "data_manager", method = "api", uploads, adjustments, settings }] of plans.entries()) {
    const accounts = [String(2_000_000_001 + index), String(2_500_000_001 + index)] as const;
    for (const customerId of accounts)
      await stack.google.putAccount({ customerId, conversionActions, ...(uploads && { uploads }), ...(adjustments && { adjustments }) });
    const team = await createQueueTeam(stack.sql(), name, owner, method);
    if (settings) await deliverySettings(stack.sql(), team, settings);
    const [customerId] = accounts;
    const chosen = { sealActionId: "1005", sealName: sealNames["1005"] } as const;
    const site: StormSite = {
      name,
      team,
      customerId,
      accounts,
      transport,
      token: 0,
      isRevoked: false,
      method,
      pausedUntil: null,
      ...chosen,
    };
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

/** The owner takes the connection away; whoever connects again later gives new access. */
export async function disconnect(stack: StormStack, site: StormSite): Promise<void> {
  const { owner, siteId } = site.team;
  await callAs(stack.sql(), owner, (tx) => tx`select public.disconnect_provider(${siteId})`, stack.clock.now());
  site.isRevoked = true;
}

/** The owner connects the site's other account instead. */
export async function moveAccount(stack: StormStack, site: StormSite): Promise<void> {
  site.customerId = site.accounts.find((id) => id !== site.customerId) ?? site.accounts[0];
  await reconnect(stack, site, site.transport);
}

/** From now on sealed conversions go to the other action. What was sent before stays where it is. */
export async function chooseOtherAction(stack: StormStack, site: StormSite): Promise<void> {
  site.sealActionId = otherOf(site.sealActionId);
  await chooseActions(stack, site, actionsOf(site));
}

/** From now on the site calls sealed conversions by the other action's name. Nobody thinks of the action. */
export async function rename(stack: StormStack, site: StormSite): Promise<void> {
  site.sealName = site.sealName === sealNames["1005"] ? sealNames["1006"] : sealNames["1005"];
  await deliverySettings(stack.sql(), site.team, { conversionNames: { seal: site.sealName } }, stack.clock.now());
}

/** The owner connects this account, and chooses for every name that rows have the action which Google calls so. */
export async function setRight(stack: StormStack, site: StormSite, customerId = site.accounts[0]): Promise<void> {
  site.customerId = customerId;
  site.sealActionId = actionIdOf(site.sealName) as SealActionId;
  await reconnect(stack, site, site.transport);
  const [, other] = Object.entries(sealNames).find(([id]) => id !== site.sealActionId) ?? [];
  await chooseActions(stack, site, [...actionsOf(site), actionOf(site, String(other), otherOf(site.sealActionId))]);
}

async function chooseActions(stack: StormStack, { team }: StormSite, actions: ReturnType<typeof actionsOf>): Promise<void> {
  const { owner, siteId } = team;
  await callAs(stack.sql(), owner, (tx) => tx`select public.set_conversion_actions(${siteId}, ${tx.json(actions)})`, stack.clock.now());
}

function actionsOf(site: StormSite) {
  return [
    actionOf(site, defaultNames.INTENT_CAPTURED, "1002"),
    actionOf(site, defaultNames.SEAL_PENDING, "1003"),
    actionOf(site, defaultNames.MEETING_BOOKED, "1004"),
    actionOf(site, site.sealName, site.sealActionId),
  ];
}

function actionOf({ customerId }: StormSite, conversionName: string, id: string) {
  const action = `customers/${customerId}/conversionActions/${id}`;
  return { conversionName, action, googleName: actionNames[id] ?? "", countingType: "MANY_PER_CLICK" };
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
    ...sealCredentials(credentials, site.team.siteUuid, "google_ads"),
  };
}

/** The owner lets the site send by its script, or by the API it is connected to. */
export async function switchDelivery(stack: StormStack, site: StormSite, to: "script" | "api"): Promise<void> {
  await switchTo(stack.sql(), site.team, to, stack.clock.now());
  site.method = to;
}

/** The owner lets nothing be sent until then, or goes on. */
export async function setPause(stack: StormStack, site: StormSite, until: Date | null): Promise<void> {
  await pauseSending(stack.sql(), site.team, until, stack.clock.now());
  site.pausedUntil = until;
}
