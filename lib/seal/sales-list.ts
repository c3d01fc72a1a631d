import { z } from "zod";
import { saleStatuses } from "#lib/contracts/states.ts";
import { undoStep } from "#lib/contracts/undo-step.ts";
import { pagedCsv } from "#lib/csv/paged-csv.ts";
import { callAsUser, type SessionClient } from "#lib/db/session-client.ts";
import type { SiteId } from "#lib/site.ts";

export const saleSources = ["desk", "elsewhere"] as const;
export const saleDeliveries = ["sent", "waiting", "never", "failed"] as const;
export const saleSorts = ["oldest", "largest", "smallest"] as const;

/** The list's filter, from the address. Unknown keys and values are ignored. */
export const salesFilter = z.object({
  status: z.enum(saleStatuses).optional().catch(undefined),
  source: z.enum(saleSources).optional().catch(undefined),
  delivery: z.enum(saleDeliveries).optional().catch(undefined),
  q: z.string().trim().min(1).max(80).optional().catch(undefined),
  /** One sale, as a link from elsewhere names it. */
  sale: z.uuid().optional().catch(undefined),
  from: z.iso.date().optional().catch(undefined),
  to: z.iso.date().optional().catch(undefined),
  sort: z.enum(saleSorts).optional().catch(undefined),
  cursor: z.string().max(120).optional().catch(undefined),
});
export type SalesFilter = z.output<typeof salesFilter>;

export const salesPage = z.object({
  sales: z.array(
    z.object({
      id: z.string(),
      externalRef: z.string().nullable(),
      status: z.enum(saleStatuses),
      version: z.number(),
      amountCents: z.number(),
      currency: z.string(),
      valueSource: z.enum(["OPERATOR", "PREDICTED", "EXTERNAL"]),
      occurredAt: z.string(),
      note: z.string().nullable(),
      callId: z.string().nullable(),
      orderId: z.string(),
      /** Its newest row of the queue, and the proof of its last change. */
      rowId: z.string().nullable(),
      proofId: z.string().nullable(),
      channel: z.string().nullable(),
      matchedBy: z.enum(["click", "phone"]).nullable(),
      undo: undoStep.nullable(),
      /** What a cancelled sale without a lead is worth when it is sealed again; null when that cannot be. */
      restoreCents: z.number().nullable(),
      delivery: z.object({
        state: z.enum(["NONE", "BLOCKED", "QUEUED", "RETRY", "PROCESSING", "COMPLETED", "FAILED"]),
        kind: z.string().optional(),
        reason: z.string().nullish(),
        verdict: z.string().nullish(),
      }),
    }),
  ),
  next: z.string().nullable(),
  /** Of all pages; on the first one only. */
  totals: z.object({ count: z.number(), confirmedCents: z.record(z.string(), z.number()) }).nullable(),
});
export type Sale = z.output<typeof salesPage>["sales"][number];

export const readSales = (db: SessionClient, siteId: SiteId, filter: SalesFilter & { limit?: number }) =>
  callAsUser(db, "list_sales", { p_public_id: siteId, p_filter: filter }, salesPage);

const columns: [string, (sale: Sale) => string | null][] = [
  ["occurred_at", (sale) => sale.occurredAt],
  ["external_ref", (sale) => sale.externalRef],
  ["status", (sale) => sale.status],
  ["amount", (sale) => (sale.amountCents / 100).toFixed(2)],
  ["currency", (sale) => sale.currency],
  ["value_source", (sale) => sale.valueSource],
  ["channel", (sale) => sale.channel],
  ["matched_by", (sale) => sale.matchedBy],
  ["delivery", (sale) => sale.delivery.state],
  ["reason", (sale) => sale.delivery.reason ?? null],
  ["verdict", (sale) => sale.delivery.verdict ?? null],
  ["note", (sale) => sale.note],
  ["sale_id", (sale) => sale.id],
];

/** The filtered list as a file. */
export const salesCsv = (db: SessionClient, siteId: SiteId, { cursor: _, ...filter }: SalesFilter) =>
  pagedCsv({
    name: "sales.csv",
    columns,
    read: async (cursor) => {
      const { sales, next } = await readSales(db, siteId, { ...filter, limit: 500, ...(cursor && { cursor }) });
      return { rows: sales, next };
    },
  });
