import { z } from "zod";
import { callRpc } from "#lib/db/call-rpc.ts";
import { googleAds } from "#lib/providers/google-ads-platform.ts";
import type { ConversionJob } from "#lib/providers/port.ts";
import type { SiteId } from "#lib/site.ts";
import { orUnavailable, requireConnection } from "./site-connection.ts";

/** A conversion that never happened. It lives in this call only: no table has it. */
const testRow = z.object({
  orderId: z.string(),
  conversionName: z.string(),
  conversionAction: z.string().nullable(),
  via: z.enum(["data_manager", "ads_api"]).nullable(),
  valueCents: z.number(),
  currency: z.string(),
  conversionTime: z.string(),
  timezone: z.string(),
  gclid: z.string().nullable(),
  wbraid: z.string().nullable(),
  gbraid: z.string().nullable(),
});

/** What Google says about the click alone. The account, its access and the conversion action passed; the screen says that clicks are not proved. */
const aboutTheClick = new Set([
  "CLICK_NOT_FOUND",
  "UNPARSEABLE_GCLID",
  "INVALID_GCLID",
  "INVALID_WBRAID",
  "INVALID_GBRAID",
  "TOO_RECENT_EVENT",
  "TOO_RECENT_CLICK",
  "TOO_RECENT_CONVERSION_ACTION",
]);

interface TestAnswer {
  ok: boolean;
  problem: string | null;
}

/** Sends one test conversion to Google with validate-only, on the way that a sealed sale takes, and keeps the answer. */
export async function testConversion(siteId: SiteId): Promise<TestAnswer> {
  const connection = await requireConnection(siteId);
  const { siteUuid } = connection;
  const row = await callRpc("test_conversion", { p_site_id: siteUuid }, testRow.nullable());
  const orderId = row?.orderId ?? `test_${crypto.randomUUID()}`;
  const record = async (problem: string | null, field: string | null): Promise<TestAnswer> => {
    const answer = { way: "api", orderId, ...(problem && { problem }), ...(field && { field }) };
    await callRpc("record_test", { p_site_id: siteUuid, p_answer: answer }, z.unknown());
    return { ok: problem === null, problem };
  };
  if (!row) return record("NO_CLICK", null);
  const { conversionAction, via, conversionName, ...sent } = row;
  if (!conversionAction || !via) return record("NO_CONVERSION_ACTION", conversionName);
  const job: ConversionJob = {
    ...sent,
    id: orderId,
    kind: "CONVERSION",
    via,
    conversionAction,
    phoneHash: null,
    emailHash: null,
    channel: null,
    consent: null,
    mayHaveArrived: false,
  };
  const { results, block } = await orUnavailable(googleAds().validateConversion(job, connection));
  const [result] = results;
  const code = result?.status === "COMPLETED" ? null : (result?.code ?? block?.code ?? "UNKNOWN");
  return record(code && !aboutTheClick.has(code) ? code : null, result?.field ?? null);
}
