/** Connects the demo's API sites with the simulated Google. */
import type { SiteId } from "#lib/site.ts";
import { demoClient, demoCustomerId, demoRefreshToken } from "../google/accounts.ts";
import type { OauthClient } from "../google/sim-shapes.ts";

export interface DemoConnection {
  siteId: SiteId;
  /** As a person would type them into the form. */
  credentials: {
    customer_id: string;
    client_id: string;
    client_secret: string;
    refresh_token: string;
    conversion_action_resource_name: string;
  };
  /** The conversion names of a new site, each with its conversion action. */
  actions: { conversionName: string; action: string; countingType: string }[];
}

interface ShownAccount {
  customerId: string;
  conversionActions: { id: string; name: string; countingType: string }[];
}

interface SiteToConnect {
  siteId: SiteId;
  syncMethod: "script" | "api";
  /** The demo's own account unless given. */
  customerId?: string;
  refreshToken?: string;
  client?: OauthClient;
}

/** `connect` is the product's own function for it: what the form on the connections page does. */
export async function connectDemo(
  { sites }: { sites: SiteToConnect[] },
  googleUrl: string,
  connect: (connection: DemoConnection) => Promise<void>,
): Promise<void> {
  const response = await fetch(`${googleUrl}/__sim/accounts`);
  const { accounts } = (await response.json()) as { accounts: ShownAccount[] };
  for (const { siteId, syncMethod, customerId = demoCustomerId, refreshToken = demoRefreshToken, client = demoClient } of sites) {
    if (syncMethod !== "api") continue;
    const account = accounts.find((one) => one.customerId === customerId);
    const actions = (account?.conversionActions ?? []).map(({ id, name, countingType }) => ({
      conversionName: name,
      action: `customers/${customerId}/conversionActions/${id}`,
      countingType,
    }));
    const credentials = {
      customer_id: customerId,
      client_id: client.clientId,
      client_secret: client.clientSecret,
      refresh_token: refreshToken,
      conversion_action_resource_name: actions.at(-1)?.action ?? "",
    };
    await connect({ siteId, credentials, actions });
  }
}
