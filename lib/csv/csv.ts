type CsvValue = string | number | null;

/** What a spreadsheet takes for a formula when a cell begins with it; full-width signs count as their narrow twins. */
const opensFormula = /^[=+\-@\uff1d\uff0b\uff0d\uff20\t\r\n\0]/;
/** A mark at which a cell may be split: a file with commas that is opened with semicolons or tabs is split inside its quotes too. */
const splitBeforeFormula = /([;\t\r\n\0])(?="*[=+\-@\uff1d\uff0b\uff0d\uff20])/g;

/**
 * One cell by RFC 4180. Every text is quoted. Event names come from strangers' browsers: an apostrophe keeps a spreadsheet from running
 * a text as a formula. Numbers are ours and stay numbers.
 */
export function csvCell(value: CsvValue): string {
  if (value === null) return "";
  if (typeof value === "number") return String(value);
  const inert = `${opensFormula.test(value) ? "'" : ""}${value.replace(splitBeforeFormula, "$1'")}`;
  return `"${inert.replaceAll('"', '""')}"`;
}

export const csvLine = (cells: CsvValue[]) => `${cells.map(csvCell).join(",")}\r\n`;

/** A cell that opens with a quote, from behind it, and where it ends. Two quotes are one; a quote that nothing closes takes the rest. */
function quotedCell(text: string, from: number): { cell: string; end: number } {
  let end = from;
  for (;;) {
    const quote = text.indexOf('"', end);
    if (quote < 0) return { cell: text.slice(from).replaceAll('""', '"'), end: text.length };
    if (text[quote + 1] !== '"') return { cell: text.slice(from, quote).replaceAll('""', '"'), end: quote + 1 };
    end = quote + 2;
  }
}

/**
 * Reads RFC 4180 text into rows of cells. Spreadsheets of some languages separate by ";" or a tab. Each character is looked at a fixed
 * number of times: a pattern took quadratic time where a quote stood in the wrong place.
 */
export function parseCsv(text: string, delimiter = ","): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let at = 0;
  while (at < text.length || row.length > 0) {
    const { cell, end } = text[at] === '"' ? quotedCell(text, at + 1) : { cell: "", end: at };
    let stop = end;
    while (stop < text.length && text[stop] !== delimiter && text[stop] !== "\n") stop++;
    const endsLine = text[stop] !== delimiter;
    const bare = text.slice(end, endsLine && text[stop - 1] === "\r" && stop > end ? stop - 1 : stop);
    row.push(cell + bare);
    at = stop + 1;
    if (!endsLine) continue;
    rows.push(row);
    row = [];
  }
  return rows;
}
