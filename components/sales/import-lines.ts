import type { Sent } from "#components/forms/send-json.ts";
import { csvLine } from "#lib/csv/csv.ts";
import type { ImportResult } from "#lib/seal/import-sales.ts";
import { type ImportRow, importStepMax, type LineProblem, type ReadImport } from "#lib/seal/read-import.ts";

/** One line of a file with its result, here or in the database. */
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

const knownFields = ["occurred_at", "customer_phone", "external_ref"] as const;

/** The message for a refused line: a key of `salesImport.problems`. */
export function lineReason({ problem, field, code }: ImportLine): LineProblem | (typeof knownFields)[number] | "other" {
  if (problem) return problem;
  if (code === "EXTERNAL_REF_CONFLICT") return "external_ref";
  return knownFields.find((known) => known === field) ?? "other";
}

function unread({ problems }: ReadImport): ImportLine[] {
  return problems.map(({ line, problem, ref }) => ({ line, ref, row: null, result: "refused", problem }));
}

function withRows(rows: ImportRow[], results: ImportResult[]): ImportLine[] {
  const byLine = new Map(rows.map((row) => [row.line, row]));
  return results.map(({ line, result, code, field, matchedBy }) => ({
    line,
    ref: byLine.get(line)?.externalRef ?? "",
    row: byLine.get(line) ?? null,
    result,
    code,
    field,
    matchedBy,
  }));
}

interface ImportSteps {
  read: ReadImport;
  /** Sends one step to the site's import route. */
  post: (body: Record<string, unknown>) => Promise<Sent>;
  onProgress: (done: number) => void;
}

/**
 * The file in steps that the database takes in one statement each. `bodyOf` gets the results so far. When a step fails, the result has the
 * lines of the steps before it, and its code.
 */
async function inSteps(
  { read, post, onProgress }: ImportSteps,
  bodyOf: (results: ImportResult[]) => Record<string, unknown>,
): Promise<{ lines: ImportLine[]; code?: string }> {
  const lines = unread(read);
  const results: ImportResult[] = [];
  while (results.length < read.rows.length) {
    onProgress(results.length);
    const rows = read.rows.slice(results.length, results.length + importStepMax);
    const sent = await post({ rows, ...bodyOf(results) });
    if (!sent.ok) return { lines, code: sent.code };
    const step = Array.isArray(sent.value.results) ? (sent.value.results as ImportResult[]) : []; // our own route, checked where it was read
    if (step.length === 0) return { lines, code: "INTERNAL" };
    results.push(...step);
    lines.push(...withRows(rows.slice(0, step.length), step)); // the database may stop after the first lines: the rest is sent again
  }
  return { lines };
}

/** What an import of the file would do. A preview leaves nothing behind, so each step gets the calls that earlier steps took. */
export const previewLines = (steps: ImportSteps) =>
  inSteps(steps, (results) => ({
    preview: true,
    taken: results.flatMap(({ result, callId }) => (result === "created" && callId ? [callId] : [])),
  }));

/** A step that fails loses nothing: the same file can be sent again. */
export const importLines = (steps: ImportSteps, seal: boolean) => inSteps(steps, () => ({ seal }));

/** The result as a file: what was read, and its outcome. `words` gives the reason. */
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
