import { csvLine } from "#lib/billing/csv.ts";
import { streamedCsv } from "#lib/billing/csv-response.ts";
import type { SessionClient } from "#lib/db/session-client.ts";
import { readQueueRows } from "./control.ts";
import type { QueueFilter } from "./control-requests.ts";
import type { QueueRow, QueueRows } from "./control-shapes.ts";

/** The most the database gives at once. */
const pageMax = 1000;
/** Excel takes a file without it for the machine's own code page, and "İstanbul" becomes "Ä°stanbul". */
const byteOrderMark = "\uFEFF";

const columns: [string, (row: QueueRow) => string | number | null][] = [
  ["id", (row) => row.id],
  ["order_id", (row) => row.orderId],
  ["status", (row) => row.status],
  ["kind", (row) => row.kind],
  ["provider", (row) => row.provider],
  ["value", (row) => row.valueCents / 100],
  ["currency", (row) => row.currency],
  ["conversion_time", (row) => row.conversionTime],
  ["channel", (row) => row.channel],
  ["click_kind", (row) => row.clickKind],
  ["phone_ending", (row) => row.phoneEnding],
  ["attempts", (row) => row.attemptCount],
  ["error_code", (row) => row.providerErrorCode],
  ["error_category", (row) => row.providerErrorCategory],
  ["last_error", (row) => row.lastError],
  ["next_retry_at", (row) => row.nextRetryAt],
  ["uploaded_at", (row) => row.uploadedAt],
  ["provider_request_id", (row) => row.providerRequestId],
  ["verdict", (row) => row.verdict],
  ["created_at", (row) => row.createdAt],
  ["updated_at", (row) => row.updatedAt],
];

interface Export {
  publicId: string;
  filter: QueueFilter;
  bom: boolean;
}

async function* linesOf(db: SessionClient, { publicId, filter, bom }: Export, first: QueueRows): AsyncGenerator<string> {
  yield (bom ? byteOrderMark : "") + csvLine(columns.map(([name]) => name));
  for (let page = first; ; ) {
    yield page.rows.map((row) => csvLine(columns.map(([, cell]) => cell(row)))).join("");
    if (!page.nextCursor) return;
    page = await readQueueRows(db, publicId, { filter, cursor: page.nextCursor, limit: pageMax });
  }
}

/** Every row that matches a filter as CSV. The first page is read before anything is answered, so a refusal is still a refusal. */
export async function queueCsv(db: SessionClient, order: Export): Promise<Response> {
  const first = await readQueueRows(db, order.publicId, { filter: order.filter, limit: pageMax });
  return streamedCsv(linesOf(db, order, first), `queue-${new Date().toISOString().slice(0, 10)}.csv`);
}
