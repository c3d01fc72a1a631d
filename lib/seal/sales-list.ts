import { z } from "zod";
import { csvLine } from "#lib/billing/csv.ts";
import { streamedCsv } from "#lib/billing/csv-response.ts";
import { callAsUser, type SessionClient } from "#lib/db/session-client.ts";

export const saleStatuses = ["DRAFT", "CONFIRMED", "CANCELED"] as const;
export const saleSources = ["desk", "elsewhere"] as const;
export const saleDeliveries = ["sent", "waiting", "never", "failed"] as const;

/** The list's filter, as it stands in the address. What is unknown there filters nothing. */
export const salesFilter = z.object({
  status: z.enum(saleStatuses).optional().catch(undefined),
  source: z.enum(saleSources).optional().catch(undefined),
  delivery: z.enum(saleDeliveries).optional().catch(undefined),
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
      channel: z.string().nullable(),
      matchedBy: z.enum(["click", "phone"]).nullable(),
      delivery: z.object({
        state: z.enum(["NONE", "BLOCKED", "QUEUED", "RETRY", "PROCESSING", "COMPLETED", "FAILED"]),
        kind: z.string().optional(),
        reason: z.string().nullish(),
        verdict: z.string().nullish(),
      }),
    }),
  ),
  next: z.string().nullable(),
});
export type Sale = z.output<typeof salesPage>["sales"][number];

const readSales = (db: SessionClient, publicId: string, filter: SalesFilter & { limit?: number }) =>
  callAsUser(db, "list_sales", { p_public_id: publicId, p_filter: filter }, salesPage);

const header = [
  "occurred_at",
  "external_ref",
  "status",
  "amount",
  "currency",
  "value_source",
  "channel",
  "matched_by",
  "delivery",
  "reason",
  "verdict",
  "note",
  "sale_id",
];

async function* csvOf(db: SessionClient, publicId: string, filter: SalesFilter): AsyncGenerator<string> {
  yield csvLine(header);
  for (let cursor: string | undefined; ; ) {
    const { sales, next } = await readSales(db, publicId, { ...filter, limit: 500, ...(cursor && { cursor }) });
    yield sales.map((sale) => csvLine(csvCells(sale))).join("");
    if (!next) return;
    cursor = next;
  }
}

function csvCells({ delivery, ...sale }: Sale) {
  const amount = (sale.amountCents / 100).toFixed(2);
  const source = [sale.occurredAt, sale.externalRef, sale.status, amount, sale.currency, sale.valueSource, sale.channel, sale.matchedBy];
  return [...source, delivery.state, delivery.reason ?? null, delivery.verdict ?? null, sale.note, sale.id];
}

/** The filtered list as a file, read page by page while it is sent. */
export function salesCsv(db: SessionClient, publicId: string, { cursor: _, ...filter }: SalesFilter): Response {
  return streamedCsv(csvOf(db, publicId, filter), "sales.csv");
}
