import { z } from "zod";
import { callRpc } from "#lib/db/call-rpc.ts";
import { AppError } from "#lib/platform/app-error.ts";
import type { ProviderConnection } from "#lib/providers/port.ts";
import { isProviderError } from "#lib/providers/provider-error.ts";
import { type SiteId, type SiteUuid, siteUuidShape } from "#lib/site.ts";
import { openConnection } from "./connection.ts";

export const providerKey = "google_ads";

/** The vault binds credentials to the site's own id, which only the service door knows. */
export async function siteUuidOf(siteId: SiteId): Promise<SiteUuid> {
  const site = await callRpc("site_for_ingest", { p_public_id: siteId }, z.object({ siteUuid: siteUuidShape }).nullable());
  if (!site) throw new AppError("NOT_FOUND");
  return site.siteUuid;
}

export async function requireConnection(siteId: SiteId): Promise<ProviderConnection> {
  const connection = await openConnection(await siteUuidOf(siteId), providerKey);
  if (!connection) throw new AppError("NOT_CONNECTED", { detail: "This site is not connected to Google Ads." });
  return connection;
}

/** A person waits for the answer, so failures that a worker would retry later are reported at once. */
export async function orUnavailable<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!isProviderError(error)) throw error;
    throw new AppError("PROVIDER_UNAVAILABLE", { detail: "Google did not answer. Try again in a minute.", cause: error });
  }
}
