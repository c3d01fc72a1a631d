import { callAsUser, type SessionClient } from "#lib/db/session-client.ts";
import { type CountedEvents, countedEvents } from "./billing-shapes.ts";
import { csvLine } from "./csv.ts";
import { streamedCsv } from "./csv-response.ts";

interface EventsPage {
  month?: string | undefined;
  cursor?: string | undefined;
  limit?: number | undefined;
}

/** The most the database gives at once. */
const pageMax = 500;

export function readCountedEvents(db: SessionClient, publicId: string, { month, cursor, limit }: EventsPage): Promise<CountedEvents> {
  const args = {
    p_public_id: publicId,
    ...(month && { p_year_month: month }),
    ...(cursor && { p_cursor: cursor }),
    ...(limit && { p_limit: limit }),
  };
  return callAsUser(db, "list_counted_events", args, countedEvents);
}

async function* csvOf(db: SessionClient, publicId: string, first: CountedEvents): AsyncGenerator<string> {
  yield csvLine(["time_utc", "event", "key"]);
  for (let page = first; ; ) {
    yield page.events.map(({ at, name, key }) => csvLine([at, name, key])).join("");
    if (!page.next) return;
    page = await readCountedEvents(db, publicId, { month: first.yearMonth, cursor: page.next, limit: pageMax });
  }
}

/** A whole month as CSV, read page by page while it is being sent. */
export async function countedEventsCsv(db: SessionClient, publicId: string, month: string | undefined): Promise<Response> {
  const first = await readCountedEvents(db, publicId, { month, limit: pageMax });
  return streamedCsv(csvOf(db, publicId, first), `events-${first.yearMonth}.csv`);
}
