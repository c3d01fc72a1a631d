/** What the demo's scripts sent before it began: the simulated Google counts it, so that it can be adjusted there. */
import postgres from "postgres";
import { scriptTime } from "#lib/providers/conversion-time.ts";
import { demoCustomerId } from "../google/accounts.ts";

const columns = ["Order ID", "Google Click ID", "Conversion name", "Conversion time", "Conversion value", "Conversion currency"] as const;

/** Once, with the data that it belongs to. */
export async function bookScriptHistory(adminUrl: string, googleUrl: string): Promise<void> {
  const sql = postgres(adminUrl, { max: 1, onnotice: () => {} });
  try {
    const sent = await sql`
      select d.order_id, s.gclid, d.conversion_name, d.conversion_time, d.value_cents::int, d.currency
      from public.provider_dispatches d join public.sales s on s.id = d.sale_id
      where d.transport = 'script' and d.kind = 'CONVERSION' and s.gclid is not null`;
    const rows = sent.map((row) => ({
      "Order ID": row.order_id,
      "Google Click ID": row.gclid,
      "Conversion name": row.conversion_name,
      "Conversion time": scriptTime(row.conversion_time, "Europe/Istanbul"),
      "Conversion value": row.value_cents / 100,
      "Conversion currency": row.currency,
    }));
    const body = JSON.stringify({ customerId: demoCustomerId, columns, rows });
    const answer = await fetch(`${googleUrl}/__sim/script-uploads`, { method: "POST", body });
    if (!answer.ok) throw new Error(`The simulated Google did not take what the script sent: ${await answer.text()}`);
  } finally {
    await sql.end();
  }
}
