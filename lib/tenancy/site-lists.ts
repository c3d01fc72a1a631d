/** How a site's conversions reach Google. */
export const syncMethods = ["script", "api"] as const;
export type SyncMethod = (typeof syncMethods)[number];

/** Whether a visitor is counted before giving consent. */
export const consentModes = ["off", "required"] as const;
