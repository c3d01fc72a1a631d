import { z } from "zod";
import { callAsUser, type SessionClient } from "#lib/db/session-client.ts";
import type { SiteId } from "#lib/site.ts";
import { vouchedCallersOf } from "./caller-hashes.ts";
import { importRowsMax, importStepMax } from "./read-import.ts";

/** Lines of a file, checked field by field in SQL: a bad line is a result of its own, not a refusal of the file. */
export const importRequest = z.strictObject({
  rows: z
    .array(z.record(z.string(), z.union([z.string().max(600), z.number(), z.boolean()])))
    .min(1, "REQUIRED")
    .max(importStepMax, "TOO_MANY"),
  seal: z.boolean().default(false),
  preview: z.boolean().default(false),
  /** Of a preview: the calls that earlier lines of the file would take. */
  taken: z.array(z.uuid()).max(importRowsMax, "TOO_MANY").default([]),
});

const importResults = z.array(
  z.object({
    line: z.number(),
    result: z.enum(["created", "known", "sealed", "refused"]),
    code: z.string().nullish(),
    field: z.string().nullish(),
    saleId: z.string().optional(),
    callId: z.string().optional(),
    matchedBy: z.enum(["click", "phone"]).optional(),
    deliveryBlock: z.string().optional(),
    amountCents: z.number().optional(),
    currency: z.string().optional(),
  }),
);
export type ImportResult = z.output<typeof importResults>[number];

export async function importSales(db: SessionClient, siteId: SiteId, { rows, seal, preview, taken }: z.output<typeof importRequest>) {
  const callers = await vouchedCallersOf(
    siteId,
    rows.map(({ customerPhone, customerHash }) => ({ phone: customerPhone, hash: customerHash })),
  );
  const lines = {
    p_public_id: siteId,
    p_rows: rows.map((row, index) => ({ ...row, callers: (callers[index] ?? []).map((each) => ({ ...each })) })),
  };
  return {
    results: preview
      ? await callAsUser(db, "preview_import", { ...lines, p_taken: taken }, importResults)
      : await callAsUser(db, "import_sales", { ...lines, p_seal: seal }, importResults),
  };
}
