/** Connects the demo's API site with the simulated Google. */
import type { SiteId } from "#lib/site.ts";
import { demoClient, demoCustomerId, demoRefreshToken } from "../google/accounts.ts";
import type { DemoSeed } from "./seed-demo.ts";

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

/** `connect` is the product's own function for it: what the form on the connections page does. */
export async function connectDemo(
  seed: DemoSeed,
  googleUrl: string,
  connect: (connection: DemoConnection) => Promise<void>,
): Promise<void> {
  const response = await fetch(`${googleUrl}/__sim/accounts`);
  const { accounts } = (await response.json()) as { accounts: ShownAccount[] };
  const account = accounts.find(({ customerId }) => customerId === demoCustomerId);
  const actions = (account?.conversionActions ?? []).map(({ id, name, countingType }) => ({
    conversionName: name,
    action: `customers/${demoCustomerId}/conversionActions/${id}`,
    countingType,
  }));
  const seals = actions.at(-1)?.action ?? "";
  const credentials = {
    customer_id: demoCustomerId,
    client_id: demoClient.clientId,
    client_secret: demoClient.clientSecret,
    refresh_token: demoRefreshToken,
    conversion_action_resource_name: seals,
  };
  for (const { siteId } of seed.sites.filter(({ syncMethod }) => syncMethod === "api")) await connect({ siteId, credentials, actions });
}
