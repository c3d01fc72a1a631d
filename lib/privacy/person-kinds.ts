/** Only lists, so that a browser loads no validator with them. */

export const personKinds = ["phone", "email", "click", "visitor"] as const;
export type PersonKind = (typeof personKinds)[number];

/** What is stored of a person. `pageViews` are in Redis, all others in Postgres. */
export const dataKinds = [
  "leads",
  "sales",
  "notes",
  "visits",
  "events",
  "choices",
  "captured",
  "held",
  "identifiers",
  "pageViews",
] as const;
