import { csvLine } from "./csv.ts";
import { streamedCsv } from "./csv-response.ts";

/** Without it Excel reads the file in the machine's own code page, and "İstanbul" becomes "Ä°stanbul". */
const byteOrderMark = "\uFEFF";

interface PagedCsv<Row> {
  name: string;
  bom?: boolean;
  columns: [string, (row: Row) => string | number | null][];
  read: (cursor: string | undefined) => Promise<{ rows: Row[]; next: string | null }>;
}

/** A list as a file, read page by page while it is sent. The first page is read before the answer begins, so a refusal still has its status. */
export async function pagedCsv<Row>({ name, bom = false, columns, read }: PagedCsv<Row>): Promise<Response> {
  const first = await read(undefined);
  async function* lines() {
    yield (bom ? byteOrderMark : "") + csvLine(columns.map(([title]) => title));
    for (let page = first; ; page = await read(page.next)) {
      yield page.rows.map((row) => csvLine(columns.map(([, cell]) => cell(row)))).join("");
      if (!page.next) return;
    }
  }
  return streamedCsv(lines(), name);
}
