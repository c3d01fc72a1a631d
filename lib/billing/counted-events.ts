import { pagedCsv } from "#lib/csv/paged-csv.ts";
import { callAsUser, type SessionClient } from "#lib/db/session-client.ts";
import type { SiteId } from "#lib/site.ts";
import { type CountedEvents, countedEvents } from "./billing-shapes.ts";

interface EventsPage {
  month?: string | undefined;
  cursor?: string | undefined;
  limit?: number | undefined;
}

/** The most the database gives at once. */
const pageMax = 500;

export function readCountedEvents(db: SessionClient, siteId: SiteId, { month, cursor, limit }: EventsPage): Promise<CountedEvents> {
  const args = {
    p_public_id: siteId,
    ...(month && { p_year_month: month }),
    ...(cursor && { p_cursor: cursor }),
    ...(limit && { p_limit: limit }),
  };
  return callAsUser(db, "list_counted_events", args, countedEvents);
}

const columns: [string, (event: CountedEvents["events"][number]) => string][] = [
  ["time_utc", ({ at }) => at],
  ["event", ({ name }) => name],
  ["key", ({ key }) => key],
];

/** A whole month as CSV. */
export async function countedEventsCsv(db: SessionClient, siteId: SiteId, month: string | undefined): Promise<Response> {
  const first = await readCountedEvents(db, siteId, { month, limit: pageMax });
  const { yearMonth } = first;
  return pagedCsv({
    name: `events-${yearMonth}.csv`,
    columns,
    read: async (cursor) => {
      const page = cursor ? await readCountedEvents(db, siteId, { month: yearMonth, cursor, limit: pageMax }) : first;
      return { rows: page.events, next: page.next };
    },
  });
}
