type CsvValue = string | number | null;

/** What a spreadsheet takes for a formula when a cell begins with it. */
const opensFormula = /^[=+\-@\t\r\n]/;

/**
 * One cell by RFC 4180. Event names come from strangers' browsers: an apostrophe keeps a spreadsheet from running a text as
 * a formula. Numbers are ours and stay numbers.
 */
export function csvCell(value: CsvValue): string {
  if (value === null) return "";
  if (typeof value === "number") return String(value);
  const inert = opensFormula.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(inert) ? `"${inert.replaceAll('"', '""')}"` : inert;
}

export const csvLine = (cells: CsvValue[]) => `${cells.map(csvCell).join(",")}\r\n`;

const cellPatterns = new Map<string, RegExp>();

/** A quoted cell, or a bare one, and what ends it. */
function cellPattern(delimiter: string): RegExp {
  const known = cellPatterns.get(delimiter);
  if (known) return known;
  const made = new RegExp(`(?:"((?:[^"]|"")*)"|([^"${delimiter}\\r\\n]*))(${delimiter}|\\r?\\n|$)`, "g");
  cellPatterns.set(delimiter, made);
  return made;
}

/** Reads RFC 4180 text into rows of cells. Spreadsheets of some languages separate by ";" or a tab. */
export function parseCsv(text: string, delimiter = ","): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  for (const [match, quoted, bare = "", end = ""] of text.matchAll(cellPattern(delimiter))) {
    if (match === "" && row.length === 0) break; // an empty match at the very end is no cell of its own
    row.push(quoted === undefined ? bare : quoted.replaceAll('""', '"'));
    if (end === delimiter) continue;
    rows.push(row);
    row = [];
    if (end === "") break;
  }
  return rows;
}
