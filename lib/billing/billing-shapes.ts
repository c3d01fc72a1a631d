import { z } from "zod";

/** What the billing functions of the database answer. */

const dayCount = z.object({ day: z.string(), events: z.number() });
export type DayCount = z.output<typeof dayCount>;

export const leadShare = z.object({
  leadSharePercent: z.int("REQUIRED").min(0, "OUT_OF_RANGE").max(100, "OUT_OF_RANGE"),
});

const plan = z.object({
  name: z.string(),
  monthlyLimit: z.number().nullable(),
  enforcement: z.enum(["soft", "hard"]),
  /** The number of events at which a month is full; null when it never is. */
  capEvents: z.number().nullable(),
  /** The owner's share of the cap that only leads may use, and the number at which anything else is refused. */
  leadSharePercent: z.number(),
  openEvents: z.number().nullable(),
  /** Of the units kept for leads, those that only signed reports of a telephone system may use. */
  signedEvents: z.number().nullable(),
  basePriceCents: z.number(),
  overageCentsPer1000: z.number(),
});

/** A day against the site's own usual days; `usual` is null while there are too few of them. */
const judgedDay = z.object({ day: z.string(), units: z.number(), usual: z.number().nullable(), isUnusual: z.boolean() });
export type JudgedDay = z.output<typeof judgedDay>;

export const usageOrigins = judgedDay.extend({
  /** Counted, but not stored yet, so that nobody knows where they came from. */
  waiting: z.number(),
  days: z.array(judgedDay),
  origins: z.array(z.object({ network: z.string(), browser: z.string(), units: z.number() })),
});
export type UsageOrigins = z.output<typeof usageOrigins>;

/** Units of a disputed day, taken off by whoever runs the installation. */
const listedCredit = z.object({
  id: z.string(),
  day: z.string(),
  units: z.number(),
  dayEvents: z.number(),
  reason: z.string().nullable(),
  proofId: z.string(),
  creditedAt: z.string(),
  /** The month of the invoice that has it; null while it waits for the next. */
  inInvoice: z.string().nullable(),
});
export type ListedCredit = z.output<typeof listedCredit>;

export const dropReasons = ["duplicate", "bot", "consent", "privacy_signal", "quota", "ceiling"] as const;
export type DropReason = (typeof dropReasons)[number];

export const billingOverview = z.object({
  now: z.string(),
  yearMonth: z.string(),
  currency: z.string(),
  plan,
  used: z.number(),
  days: z.array(dayCount),
  daysBefore: z.array(dayCount),
  drops: z.partialRecord(z.enum(dropReasons), z.number()),
  reconciledAt: z.string().nullable(),
  drift: z.number().nullable(),
  credits: z.array(listedCredit),
  unusualDays: z.array(judgedDay),
});
export type BillingOverview = z.output<typeof billingOverview>;

const invoiceSummary = z.object({
  yearMonth: z.string(),
  eventCount: z.number(),
  totalCents: z.number(),
  currency: z.string(),
  contentHash: z.string(),
  dueAt: z.string(),
});
export type InvoiceSummary = z.output<typeof invoiceSummary>;
export const invoiceSummaries = z.array(invoiceSummary);

/** What an earlier month turned out to be after its invoice was frozen. */
const adjustment = z.object({
  yearMonth: z.string(),
  events: z.number(),
  cents: z.number(),
  eventCount: z.number(),
  eventsDigest: z.string(),
});

/** A credited day as a line of an invoice, with everything that its amount is made of. */
const creditLine = z.object({
  id: z.string(),
  day: z.string(),
  units: z.number(),
  cents: z.number(),
  dayEvents: z.number(),
  monthEvents: z.number(),
  creditedBefore: z.number(),
  monthlyLimit: z.number().nullable(),
  overageCentsPer1000: z.number(),
  proofId: z.string(),
  proofHash: z.string(),
  /** Not part of the hash: free text, which can be erased. The proof has its SHA-256. */
  reason: z.string().nullish().default(null),
});
export type CreditLine = z.output<typeof creditLine>;

export const invoice = z.object({
  site: z.string(),
  yearMonth: z.string(),
  eventCount: z.number(),
  eventsDigest: z.string(),
  planName: z.string().nullable(),
  monthlyLimit: z.number().nullable(),
  overageCentsPer1000: z.number(),
  currency: z.string(),
  baseCents: z.number(),
  overageEvents: z.number(),
  overageCents: z.number(),
  adjustments: z.array(adjustment),
  /** Missing in proof files from before there were credits. */
  credits: z.array(creditLine).default([]),
  totalCents: z.number(),
  dueAt: z.string(),
  frozenAt: z.string(),
  contentHash: z.string(),
  days: z.array(dayCount.extend({ digest: z.string() })),
  /** Not part of the hash: lines of later invoices that put this month right. */
  corrections: z.array(adjustment.extend({ inInvoice: z.string() })),
  eventsKeptUntil: z.string(),
});
export type Invoice = z.output<typeof invoice>;

export const countedEvents = z.object({
  yearMonth: z.string(),
  total: z.number().nullable(),
  events: z.array(z.object({ at: z.string(), name: z.string(), key: z.string() })),
  next: z.string().nullable(),
});
export type CountedEvents = z.output<typeof countedEvents>;
