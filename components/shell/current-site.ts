"use client";

import type { SiteId } from "#lib/site.ts";
import type { SiteRole } from "#lib/tenancy/site-roles.ts";
import { useSiteInView } from "./site-in-view.tsx";

/** What the shell knows of a site: enough to name it and to choose its pages. */
export interface ShellSite {
  siteId: SiteId;
  name: string;
  domain: string | null;
  role: SiteRole;
  timezone: string;
}

/** The site in view, if it is one of the reader's. */
export function useCurrentSite(sites: ShellSite[]): ShellSite | null {
  const siteId = useSiteInView();
  return sites.find((site) => site.siteId === siteId) ?? null;
}
