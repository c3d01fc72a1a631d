import type { SiteId } from "#lib/site.ts";

/** The site that OCI Control shows, as its page gives it. */
export interface ControlSite {
  siteId: SiteId;
  currency: string;
  timezone: string;
  ociSyncMethod: "script" | "api";
  role: "owner" | "operator" | "viewer";
  /** Archived sites can be read only. */
  isArchived: boolean;
}

export const mayActOn = ({ role, isArchived }: ControlSite) => role !== "viewer" && !isArchived;
