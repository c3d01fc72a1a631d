/** What a script's CSV upload becomes. The script never learns of it; a test that simulates Google gets the counts. */
import { bookConversion, changeConversion, findConversion, tally, type Upload } from "./book.ts";
import { findClickProblem } from "./click-ids.ts";
import type { Sim } from "./sim.ts";
import type { Account, SentRow } from "./sim-shapes.ts";

export interface ScriptFile {
  customerId: string;
  columns: string[];
  rows: Record<string, string | number>[];
}

export interface ScriptOutcome {
  counted: number;
  duplicates: number;
  rejected: { orderId: string; reason: string }[];
}

const clickColumns = { gclid: "Google Click ID", gbraid: "GBRAID", wbraid: "WBRAID" } as const;
const knownColumns = [
  ...Object.values(clickColumns),
  "Order ID",
  "Conversion name",
  "Conversion time",
  "Conversion value",
  "Conversion currency",
];

export function bookScriptFile(sim: Sim, file: ScriptFile, requestId: string): { outcome: ScriptOutcome; rows: SentRow[] } {
  const account = sim.store.get("accounts", file.customerId);
  if (!account) throw new Error(`There is no account ${file.customerId}.`);
  const outcome: ScriptOutcome = { counted: 0, duplicates: 0, rejected: [] };
  const hasOddColumn = file.columns.some((column) => !knownColumns.includes(column));
  const rows = file.rows.map((row): SentRow => {
    const upload = hasOddColumn ? "unknown column" : readRow(sim, account, row, requestId);
    const result = typeof upload === "string" ? upload : book(sim, upload);
    if (result === "COUNTED") outcome.counted++;
    else if (result === "DUPLICATE") outcome.duplicates++;
    else outcome.rejected.push({ orderId: String(row["Order ID"]), reason: result });
    const action = typeof upload === "string" ? null : upload.actionId;
    const { "Order ID": orderId, "Conversion value": value, "Conversion currency": currency } = row;
    return { orderId: String(orderId), action, kind: "CONVERSION", value: Number(value), currency: String(currency), outcome: result };
  });
  return { outcome, rows };
}

function readRow(sim: Sim, account: Account, row: ScriptFile["rows"][number], requestId: string): Upload | string {
  const ids = Object.entries(clickColumns).flatMap(([name, column]) => (row[column] ? [[name, String(row[column])]] : []));
  if (ids.length !== 1) return "not one click id";
  const { "Conversion time": time, "Conversion value": value, "Conversion currency": currency, "Order ID": orderId } = row;
  const [, date, clock, hours, minutes] = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)([+-]\d\d):?(\d\d)$/.exec(String(time)) ?? [];
  const conversionTime = Date.parse(`${date}T${clock}${hours}:${minutes}`);
  if (!Number.isFinite(conversionTime)) return "malformed time";
  if (!orderId) return "missing field";
  if (typeof value !== "number" || !/^[A-Z]{3}$/.test(String(currency))) return "malformed value";
  const action = account.conversionActions.find(({ name }) => name === row["Conversion name"]);
  if (!action) return "no such conversion action";
  const identifiers = Object.fromEntries(ids);
  const found = findClickProblem(sim, identifiers, conversionTime);
  if (found) return found.problem;
  const { customerId } = account;
  const upload = {
    customerId,
    actionId: action.id,
    orderId: String(orderId),
    value,
    currency: String(currency),
    conversionTime,
    identifiers,
  };
  return { ...upload, via: "script", requestId };
}

/** A file only adds: what Google has already stays as it is, retracted or restated. */
function book(sim: Sim, upload: Upload): "COUNTED" | "DUPLICATE" {
  const known = findConversion(sim, upload);
  tally(sim, { customerId: upload.customerId, client: "GOOGLE_ADS_WEB_CLIENT", actionId: upload.actionId }, known ? "DUPLICATE" : null);
  if (known) changeConversion(sim, known, { sends: known.sends + 1 });
  else bookConversion(sim, upload);
  return known ? "DUPLICATE" : "COUNTED";
}
