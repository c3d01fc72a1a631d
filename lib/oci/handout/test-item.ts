import { z } from "zod";
import { callRpc } from "#lib/db/call-rpc.ts";
import type { SiteMachine } from "#lib/guards/machine.ts";
import { scriptTime } from "#lib/providers/conversion-time.ts";
import type { SiteUuid } from "#lib/site.ts";
import type { ExportItem } from "./items.ts";

/** A conversion that never happened, for a script's preview. It is made here and kept nowhere; only the script's answer is. */

const click = z
  .string()
  .nullable()
  .transform((id) => id ?? "");
const testRow = z.object({
  orderId: z.string(),
  conversionName: z.string(),
  valueCents: z.number(),
  currency: z.string(),
  conversionTime: z.string(),
  timezone: z.string(),
  gclid: click,
  wbraid: click,
  gbraid: click,
});

/** Null while no visit with a click id and consent is known; the owner's page says so. */
export async function makeTestItem({ siteUuid }: SiteMachine): Promise<ExportItem | null> {
  const row = await callRpc("test_conversion", { p_site_id: siteUuid }, testRow.nullable());
  if (!row) {
    await recordTest(siteUuid, { orderId: `test_${crypto.randomUUID()}`, problem: "NO_CLICK", field: null, hasAction: false });
    return null;
  }
  const { orderId, conversionName, gclid, wbraid, gbraid } = row;
  return {
    id: orderId,
    orderId,
    gclid,
    wbraid,
    gbraid,
    conversionName,
    conversionTime: scriptTime(new Date(row.conversionTime), row.timezone),
    conversionValue: row.valueCents / 100,
    conversionCurrency: row.currency,
    claim: "",
  };
}

export const testAnswer = z.object({
  orderId: z.string("REQUIRED").regex(/^test_[0-9a-f-]{36}$/),
  problem: z.string().min(1).max(64).nullable(),
  field: z.string().max(256).nullable(),
  hasAction: z.boolean("REQUIRED"),
});

export async function recordTest(siteUuid: SiteUuid, { problem, field, ...rest }: z.output<typeof testAnswer>): Promise<{ ok: true }> {
  const answer = { way: "script", ...rest, ...(problem && { problem }), ...(field && { field }) };
  await callRpc("record_test", { p_site_id: siteUuid, p_answer: answer }, z.unknown());
  return { ok: true };
}
