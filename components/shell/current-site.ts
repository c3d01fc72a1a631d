"use client";

import { useParams } from "next/navigation";
import type { SiteId } from "#lib/site.ts";
import type { SiteRole } from "#lib/tenancy/site-fields.ts";

/** What the shell knows of a site: enough to name it and to choose its pages. */
export interface ShellSite {
  siteId: SiteId;
  name: string;
  domain: string | null;
  role: SiteRole;
}

/** The site in the address, if it is one of the reader's. */
export function useCurrentSite(sites: ShellSite[]): ShellSite | null {
  const { siteId } = useParams();
  return sites.find((site) => site.siteId === siteId) ?? null;
}
