import { log } from "#lib/platform/log.ts";
import { googleAds } from "#lib/providers/google-ads-platform.ts";
import type { ProviderConnection } from "#lib/providers/port.ts";
import type { ActionList } from "./connection-shapes.ts";

type ListedAction = ActionList["actions"][number];

/**
 * What Google calls each action, and how it counts. A script sends by name, so what it may have sent must not go to an action of another name.
 * An account whose list cannot be read is still used, without that safeguard.
 */
export async function actionsAtGoogle(opening: Promise<ProviderConnection> | ProviderConnection): Promise<Map<string, ListedAction>> {
  try {
    const { actions } = await googleAds().listConversionActions(await opening);
    return new Map(actions.map((listed) => [listed.action, listed]));
  } catch (error) {
    log.warn("names of conversion actions not read", { error });
    return new Map();
  }
}

export function knownOf(listed: Map<string, ListedAction>, action: string): { googleName?: string; countingType?: string } {
  const known = listed.get(action);
  return known ? { googleName: known.name, ...(known.countingType && { countingType: known.countingType }) } : {};
}
