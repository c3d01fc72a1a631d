import { z } from "zod";
import { leadChannels } from "#lib/channels.ts";
import { callStates, ledgerKinds, saleStatuses } from "#lib/contracts/states.ts";
import { undoStep } from "#lib/contracts/undo-step.ts";
import { clickKinds, queueKinds, queueStatuses, transports, verdicts } from "#lib/oci/queue-types.ts";
import { syncMethods } from "#lib/site.ts";

/** What the desk's readers answer. Numbers are masked in SQL; only a lead's own page, for operators, has the whole one. */

export const views = ["all", "open", "needs_you", "sealed", "junk"] as const;
const leadStatus = z.enum(callStates);
export type LeadStatus = z.output<typeof leadStatus>;
const deliveryBlock = z.enum(["NO_CLICK_ID", "NO_CONSENT", "CLICK_EXPIRED", "NO_MATCH"]);
const verdict = z.enum(verdicts);
const adjustment = z.enum(["RESTATE", "RETRACT"]);

const sale = z.object({
  id: z.string(),
  version: z.number(),
  status: z.enum(saleStatuses),
  amountCents: z.number(),
  currency: z.string(),
  isPredicted: z.boolean(),
  deliveryBlock: deliveryBlock.nullable(),
  note: z.string().nullable(),
  adjustableUntil: z.string(),
  /** What Google has of the sale; null when it has nothing. */
  atGoogle: z
    .object({
      kind: z.enum(queueKinds),
      transport: z.enum(transports),
      at: z.string(),
      verdict: verdict.nullable(),
      isWbraidOnly: z.boolean(),
      isElsewhere: z.boolean(),
    })
    .nullable(),
});
export type DeskSale = z.output<typeof sale>;

const delivery = z.object({
  status: z.enum(queueStatuses),
  /** Closed on purpose before anything was sent: no failure, though it is stored as one. */
  isNotSent: z.boolean(),
  notBefore: z.string(),
  errorCode: z.string().nullable(),
  uploadedAt: z.string().nullable(),
  verdict: verdict.nullable(),
  pendingAdjustment: adjustment.nullable(),
});

const deskLead = z.object({
  id: z.string(),
  channel: z.enum(leadChannels),
  phone: z.string().nullable(),
  /** As an operator wrote it down; null for viewers. */
  name: z.string().nullable(),
  status: leadStatus,
  version: z.number(),
  score: z.number(),
  points: z.record(z.string(), z.number()),
  calledAt: z.string(),
  pagePath: z.string().nullable(),
  campaign: z.string().nullable(),
  keyword: z.string().nullable(),
  clickBlock: deliveryBlock.nullable(),
  clickedAt: z.string().nullable(),
  clickExpiresAt: z.string().nullable(),
  needsYou: z.enum(["CLICK_EXPIRES", "WAITING"]).nullable(),
  visitsBefore: z.number(),
  changedAt: z.string().nullable(),
  changedBy: z.string().nullable(),
  changedByYou: z.boolean(),
  undo: undoStep.nullable(),
  sale: sale.nullable(),
  delivery: delivery.nullable(),
});
export type DeskLead = z.output<typeof deskLead>;

export const deskPage = z.object({
  asOf: z.string(),
  open: z.number(),
  leads: z.array(deskLead),
  next: z.string().nullable(),
  needsYou: z.array(deskLead).default([]),
  needsYouCount: z.number().default(0),
  todayCount: z.number().default(0),
  /** The reader's own newest step that can be undone, whatever the list shows. */
  lastStep: z
    .object({
      leadId: z.string(),
      phone: z.string().nullable(),
      channel: z.enum(leadChannels),
      version: z.number(),
      undo: undoStep,
    })
    .nullable()
    .default(null),
});
export type DeskPage = z.output<typeof deskPage>;

const visit = z.object({
  startedAt: z.string(),
  clickedAt: z.string().nullable(),
  isReturn: z.boolean(),
  campaign: z.string().nullable(),
  keyword: z.string().nullable(),
  device: z.string().nullable(),
  city: z.string().nullable(),
  country: z.string().nullable(),
  /** Its events were erased or are past their time. */
  isCleared: z.boolean(),
  events: z.array(
    z.object({ at: z.string(), action: z.string(), isLead: z.boolean(), value: z.number().nullable(), path: z.string().nullable() }),
  ),
});
export type Visit = z.output<typeof visit>;

const money = { amountCents: z.number(), currency: z.string() };
const actor = { by: z.string().nullable(), byYou: z.boolean() };

export const leadDetail = deskLead.extend({
  asOf: z.string(),
  fullPhone: z.string().nullable(),
  /** The same in E.164. */
  dialNumber: z.string().nullable(),
  /** Its personal data was erased: nothing can be added. */
  isErased: z.boolean(),
  clickKind: z.enum(clickKinds).nullable(),
  /** Its first stage is sent to Google once somebody moves the lead. */
  signalWaits: z.boolean(),
  visits: z.array(visit),
  /** When the visitor gave consent or took it back, oldest first. */
  choices: z.array(z.object({ at: z.string(), scopes: z.array(z.string()), path: z.string().nullable() })),
  history: z.array(
    z.object({
      proofId: z.string(),
      at: z.string(),
      contract: z.enum(["call", "sale", "conversion", "lead"]),
      from: z.string().nullable(),
      to: z.string(),
      isUndo: z.boolean(),
      note: z.string().nullable(),
      amountCents: z.number().nullable(),
      currency: z.string().nullable(),
      ...actor,
    }),
  ),
  ledger: z.array(
    z.object({
      id: z.string(),
      at: z.string(),
      kind: z.enum(ledgerKinds),
      deltaCents: z.number(),
      isPredicted: z.boolean(),
      ...money,
      ...actor,
    }),
  ),
  deliveries: z.array(
    z.object({
      id: z.string(),
      at: z.string(),
      kind: z.enum(queueKinds),
      transport: z.enum(transports),
      verdict: verdict.nullable(),
      verdictAt: z.string().nullable(),
      ...money,
    }),
  ),
  /** Other leads of the person, newest first. */
  siblings: z.array(z.object({ id: z.string(), channel: z.enum(leadChannels), status: leadStatus, calledAt: z.string() })),
});
export type LeadDetail = z.output<typeof leadDetail>;

const dayFigures = z.object({
  day: z.string(),
  leads: z.number(),
  sealed: z.number(),
  valueCents: z.number(),
  medianMinutes: z.number().nullable(),
  queued: z.number(),
  delivered: z.number(),
  failed: z.number(),
});
export type DayFigures = z.output<typeof dayFigures>;

export const deskFigures = z.object({
  asOf: z.string(),
  today: z.string(),
  currency: z.string(),
  rules: z.object({ sendDelayMinutes: z.number(), clickMinAgeHours: z.number(), syncMethod: z.enum(syncMethods) }),
  open: z.number(),
  days: z.array(dayFigures),
  otherCurrencySales: z.number(),
  confirmed: z.number(),
  waiting: z.object({ count: z.number(), valueCents: z.record(z.string(), z.number()) }),
  failed: z.object({ count: z.number(), topCode: z.string().nullable() }),
  lastWeekMedianMinutes: z.number().nullable(),
  todayByStatus: z.partialRecord(leadStatus, z.number()),
  campaigns: z.array(z.string()),
  hasLeads: z.boolean(),
  hasVisits: z.boolean(),
});
export type DeskFigures = z.output<typeof deskFigures>;
export type DeskRules = DeskFigures["rules"];

export const amountPresets = z.array(
  z.object({ amountCents: z.number(), label: z.string().nullable(), isUsual: z.boolean(), isExpected: z.boolean() }),
);
export type AmountPreset = z.output<typeof amountPresets>[number];

export const openLeads = z.record(z.string(), z.number());
