import { BadgeCheck, History, Inbox, type LucideIcon, Plug, ReceiptText, Send, Settings2, ShieldCheck, Users } from "lucide-react";
import type { SiteId } from "#lib/site.ts";
import type { SiteRole } from "#lib/tenancy/site-roles.ts";

export interface NavItem {
  /** A key of the `nav` messages. */
  key: "today" | "ociControl" | "sales" | "activity" | "billing" | "connections" | "googleAds" | "members" | "privacy" | "settings";
  /** Below /dashboard/site/[siteId]. */
  path: "" | `/${string}`;
  icon: LucideIcon;
  group: "work" | "site";
  /** The roles that see it; a person never sees a page they may not open. */
  roles: readonly SiteRole[];
  /** Has a place of its own in the phone's bottom bar; the others wait under More. */
  onPhoneBar: boolean;
}

const everyone = ["owner", "operator", "viewer"] as const;
const owners = ["owner"] as const;
const others = ["operator", "viewer"] as const;

/** Every page of a site, in the order of the navigation. A new page is one line here. */
const navItems: NavItem[] = [
  { key: "today", path: "", icon: Inbox, group: "work", roles: everyone, onPhoneBar: true },
  { key: "ociControl", path: "/oci-control", icon: Send, group: "work", roles: everyone, onPhoneBar: true },
  { key: "sales", path: "/sales", icon: BadgeCheck, group: "work", roles: everyone, onPhoneBar: false },
  { key: "activity", path: "/activity", icon: History, group: "work", roles: everyone, onPhoneBar: false },
  { key: "billing", path: "/billing", icon: ReceiptText, group: "work", roles: everyone, onPhoneBar: true },
  { key: "connections", path: "/connections", icon: Plug, group: "site", roles: owners, onPhoneBar: false },
  { key: "googleAds", path: "/connections/google-ads", icon: Plug, group: "site", roles: others, onPhoneBar: false }, // owners: Connections
  { key: "members", path: "/members", icon: Users, group: "site", roles: owners, onPhoneBar: false },
  { key: "privacy", path: "/privacy", icon: ShieldCheck, group: "site", roles: owners, onPhoneBar: false },
  { key: "settings", path: "/settings", icon: Settings2, group: "site", roles: owners, onPhoneBar: false },
];

export function sitePath(siteId: SiteId, path: NavItem["path"] = ""): string {
  return `/dashboard/site/${siteId}${path}`;
}

/** A lead on Today, a conversion in OCI Control, a sale in its list, and the receipt of a change. */
export const leadPath = (siteId: SiteId, callId: string) => `${sitePath(siteId)}?lead=${callId}`;
export const rowPath = (siteId: SiteId, rowId: string) => `${sitePath(siteId, "/oci-control")}?row=${rowId}`;
export const salePath = (siteId: SiteId, saleId: string) => `${sitePath(siteId, "/sales")}?sale=${saleId}`;
export const proofPath = (proofId: string) => `/dashboard/proofs/${proofId}`;

/** The form that connects Google Ads, open. */
export function connectPath(siteId: SiteId): string {
  return `${sitePath(siteId, "/connections/google-ads")}?connect=1#connect`;
}

export function navItemsFor(role: SiteRole): NavItem[] {
  return navItems.filter((item) => item.roles.includes(role));
}
