import { scriptTime } from "#lib/providers/conversion-time.ts";
import { service } from "#tests/fixtures/service.ts";
import { count, type StormScene } from "./storm-scene.ts";
import type { StormSite } from "./storm-sites.ts";

interface ExportedRow {
  id: string;
  orderId: string;
  conversionName: string;
  conversionTime: string;
  timezone: string;
  valueCents: number;
  currency: string;
  gclid: string | null;
  gbraid: string | null;
  wbraid: string | null;
}

const columns = [
  "Order ID",
  "Google Click ID",
  "GBRAID",
  "WBRAID",
  "Conversion name",
  "Conversion time",
  "Conversion value",
  "Conversion currency",
];

/** One run of a site's Google Ads Script: claim, upload, ack. It can end before any of them, as Google's scripts do. */
export async function runScript(scene: StormScene, { team, accounts }: StormSite, { mayDie }: { mayDie: boolean }): Promise<void> {
  const { stack, random } = scene;
  const death = mayDie
    ? random.weighed([
        [75, null],
        [10, "before upload"],
        [15, "before ack"],
      ] as const)
    : null;
  const waiting = await stack.sql()`
    select id from public.offline_conversion_queue
    where site_id = ${team.siteUuid} and kind = 'CONVERSION' and status in ('QUEUED', 'RETRY') order by created_at, id limit 200`;
  const p_ids = waiting.map(({ id }) => String(id));
  const claim = { p_ids, p_site_id: team.siteUuid };
  const { rows } = await service<{ rows: ExportedRow[] }>(
    stack.sql(),
    "claim_offline_conversion_rows_for_script_export",
    claim,
    stack.clock.now(),
  );
  if (rows.length === 0) return;
  count(scene, death ? `script runs that ended ${death}` : "script runs");
  if (death === "before upload") return;
  await stack.google.admin("POST", "/script-uploads", { customerId: accounts[0], columns, rows: rows.map(csvRow) });
  if (death === "before ack") return;
  await service(stack.sql(), "ack_offline_conversions", { p_site_id: team.siteUuid, p_ids: rows.map(({ id }) => id) }, stack.clock.now());
}

function csvRow(row: ExportedRow) {
  return {
    "Order ID": row.orderId,
    "Google Click ID": row.gclid ?? "",
    GBRAID: row.gbraid ?? "",
    WBRAID: row.wbraid ?? "",
    "Conversion name": row.conversionName,
    "Conversion time": scriptTime(new Date(row.conversionTime), row.timezone),
    "Conversion value": row.valueCents / 100,
    "Conversion currency": row.currency,
  };
}
