import { sendJson } from "#components/forms/send-json.ts";
import { csvLine } from "#lib/billing/csv.ts";
import type { ImportResult } from "#lib/seal/import-sales.ts";
import type { ImportRow, LineProblem, ReadImport } from "#lib/seal/read-import.ts";

/** One line of a file with what became of it, here or in the database. */
export interface ImportLine {
  line: number;
  ref: string;
  row: ImportRow | null;
  result: ImportResult["result"];
  problem?: LineProblem;
  code?: string | null | undefined;
  field?: string | null | undefined;
  matchedBy?: ImportResult["matchedBy"];
}

const batchMax = 100;
const knownFields = ["occurred_at", "customer_phone", "external_ref"] as const;

/** The words for a refused line: a key of the `salesImport.problems` messages. */
export function lineReason({ problem, field, code }: ImportLine): LineProblem | (typeof knownFields)[number] | "other" {
  if (problem) return problem;
  if (code === "EXTERNAL_REF_CONFLICT") return "external_ref";
  return knownFields.find((known) => known === field) ?? "other";
}

function unread({ problems }: ReadImport): ImportLine[] {
  return problems.map(({ line, problem, ref }) => ({ line, ref, row: null, result: "refused", problem }));
}

function withRows(rows: ImportRow[], results: unknown): ImportLine[] {
  if (!Array.isArray(results)) return [];
  const byLine = new Map(rows.map((row) => [row.line, row]));
  return (results as ImportResult[]).map(({ line, result, code, field, matchedBy }) => ({
    line,
    ref: byLine.get(line)?.externalRef ?? "",
    row: byLine.get(line) ?? null,
    result,
    code,
    field,
    matchedBy,
  }));
}

/** What an import of the file would do. Null when the database could not be asked; its code says why. */
export async function previewLines(siteId: string, read: ReadImport): Promise<{ lines: ImportLine[] } | { code: string }> {
  if (read.rows.length === 0) return { lines: unread(read) };
  const sent = await sendJson("POST", `/api/sites/${siteId}/sales/import`, { rows: read.rows, preview: true });
  if (!sent.ok) return { code: sent.code };
  return { lines: [...withRows(read.rows, sent.value.results), ...unread(read)] };
}

interface Import {
  siteId: string;
  read: ReadImport;
  seal: boolean;
  onProgress: (done: number) => void;
}

/** Batch by batch, so that one that fails loses nothing: the same file can be sent again. */
export async function importLines({ siteId, read, seal, onProgress }: Import): Promise<{ lines: ImportLine[]; code?: string }> {
  const lines = unread(read);
  for (let start = 0; start < read.rows.length; start += batchMax) {
    const rows = read.rows.slice(start, start + batchMax);
    const sent = await sendJson("POST", `/api/sites/${siteId}/sales/import`, { rows, seal });
    if (!sent.ok) return { lines, code: sent.code };
    lines.push(...withRows(rows, sent.value.results));
    onProgress(Math.min(start + batchMax, read.rows.length));
  }
  return { lines };
}

/** The result as a file: what was read, and what became of it. `words` says a reason. */
export function resultCsv(lines: ImportLine[], words: (line: ImportLine) => string): string {
  const ordered = [...lines].sort((a, b) => a.line - b.line);
  const cells = ordered.map((line) => [
    line.line,
    line.row?.externalRef ?? null,
    line.result,
    words(line),
    line.code ?? line.problem ?? null,
  ]);
  return [["row", "external_ref", "result", "reason", "code"], ...cells].map(csvLine).join("");
}
