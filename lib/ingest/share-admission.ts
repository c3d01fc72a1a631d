import { AppError } from "#lib/platform/app-error.ts";
import type { SiteUuid } from "#lib/site.ts";

/** What the database says of the events of one call, in their order. */
export interface Admission {
  results: ("accepted" | "duplicate" | "enriched" | "quota")[];
  used: number;
  limit: number | null;
  overage: boolean;
}

type Admit<Event> = (siteUuid: SiteUuid, events: Event[]) => Promise<Admission>;

interface Request<Event> {
  events: Event[];
  resolve: (admission: Admission) => void;
  reject: (error: unknown) => void;
}

/** admit_events takes no more in one call. */
const eventsMax = 100;
/** How many calls of one site are under way at once. A second one keeps a slow call from holding up everybody. */
const callsMax = 2;

const isUnavailable = (error: unknown) => error instanceof AppError && error.status === 503;

/**
 * Requests that come while calls of their site are under way wait and go together in the next call: one transaction and one commit for all
 * of them. Each gets what it would have got alone, in the order they came. Nobody waits where nothing is under way.
 */
export function shareAdmission<Event>(admit: Admit<Event>): Admit<Event> {
  const lines = new Map<SiteUuid, { calls: number; waiting: Request<Event>[] }>();

  function next(siteUuid: SiteUuid): void {
    const line = lines.get(siteUuid);
    if (!line) return;
    while (line.calls < callsMax && line.waiting.length > 0) {
      line.calls += 1;
      void answer(siteUuid, takeGroup(line.waiting)).finally(() => {
        line.calls -= 1;
        if (line.calls === 0 && line.waiting.length === 0) lines.delete(siteUuid);
        next(siteUuid);
      });
    }
  }

  async function answer(siteUuid: SiteUuid, group: Request<Event>[]): Promise<void> {
    try {
      const events = group.flatMap((request) => request.events);
      const parts = split(await admit(siteUuid, events), group);
      for (const [index, part] of parts.entries()) group[index]?.resolve(part);
    } catch (error) {
      // Without a database those who wait would wait in vain, too.
      if (isUnavailable(error)) for (const { reject } of [...group, ...(lines.get(siteUuid)?.waiting.splice(0) ?? [])]) reject(error);
      else if (group.length === 1) group[0]?.reject(error);
      // Nothing was admitted, and what one request brought must not cost the others.
      else for (const { events, resolve, reject } of group) await admit(siteUuid, events).then(resolve, reject);
    }
  }

  return (siteUuid, events) =>
    new Promise((resolve, reject) => {
      const line = lines.get(siteUuid) ?? { calls: 0, waiting: [] };
      lines.set(siteUuid, line);
      line.waiting.push({ events, resolve, reject });
      next(siteUuid);
    });
}

/** Takes as many of the waiting requests as fit into one call, and at least one. */
function takeGroup<Event>(waiting: Request<Event>[]): Request<Event>[] {
  let events = 0;
  const tooMany = waiting.findIndex((request) => {
    events += request.events.length;
    return events > eventsMax;
  });
  return waiting.splice(0, tooMany === -1 ? waiting.length : Math.max(tooMany, 1));
}

/** Each request's part of the answer, as if its events had come after those of the requests before it. */
function split<Event>({ results, used, limit }: Admission, group: Request<Event>[]): Admission[] {
  const acceptedIn = (part: Admission["results"]) => part.filter((result) => result === "accepted").length;
  let usedSoFar = used - acceptedIn(results);
  let start = 0;
  return group.map(({ events }) => {
    const part = results.slice(start, start + events.length);
    start += events.length;
    usedSoFar += acceptedIn(part);
    return { results: part, used: usedSoFar, limit, overage: limit !== null && usedSoFar > limit };
  });
}
