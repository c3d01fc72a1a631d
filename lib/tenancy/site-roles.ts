/** Roles and the uses of keys: only lists, so that a browser loads no validator with them. */

/** In falling order of rights. */
export const siteRoles = ["owner", "operator", "viewer"] as const;
export type SiteRole = (typeof siteRoles)[number];

/** Whether a role includes another's rights. */
export function hasRole(role: SiteRole, needed: SiteRole): boolean {
  return siteRoles.indexOf(role) <= siteRoles.indexOf(needed);
}

/** What a key may be used for, the least first. */
export const keyScopes = ["script", "calls", "sales", "contracts"] as const;
export type KeyScope = (typeof keyScopes)[number];
