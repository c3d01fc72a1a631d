import { retryDeadlocks } from "#lib/db/call-rpc.ts";
import { countViewsOfVisitor, forgetViewsOf, type ViewStore } from "#lib/oci/handout/page-views.ts";
import { AppError } from "#lib/platform/app-error.ts";
import { type AskedPerson, type GivenReceipt, namedPerson, type PersonDoor, type PersonPreview } from "./person.ts";

async function sumOf(visitors: string[], count: (visitor: string) => Promise<number>): Promise<number> {
  let total = 0;
  for (const visitor of visitors) total += await count(visitor);
  return total;
}

/** What erasing would reach, page views in Redis included. Gives no identifier away. */
export async function previewErasure(
  door: PersonDoor,
  person: AskedPerson,
  store?: ViewStore,
): Promise<Omit<PersonPreview, "visitors" | "phoneHashes">> {
  const { visitors, phoneHashes: _hidden, kinds, ...rest } = (await namedPerson(door, person)).preview;
  const rows = await sumOf(visitors, (visitor) => countViewsOfVisitor(door.siteId, visitor, store));
  return { ...rest, kinds: [...kinds, { kind: "pageViews", rows, firstAt: null, lastAt: null }] };
}

const budgetMs = 40_000;

/**
 * Erases step by step until nothing is left. Redis comes first: once Postgres has forgotten the visitors, nobody could find their page
 * views. Whatever arrives between the two is deleted after the last step. An erasure that is interrupted is simply asked for again.
 */
export async function erasePerson(door: PersonDoor, asked: AskedPerson, store?: ViewStore): Promise<GivenReceipt> {
  const forget = (visitors: string[]) => forgetViewsOf(door.siteId, visitors, store);
  const { person, preview } = await namedPerson(door, asked);
  const pageViews = await forget(preview.visitors);
  const until = Date.now() + budgetMs;
  let receiptId: string | null = null;
  do {
    const step: Awaited<ReturnType<PersonDoor["erase"]>> = await retryDeadlocks(() => door.erase({ ...person, pageViews }, receiptId));
    receiptId = step.receiptId;
    await forget(step.visitors);
    if (step.receipt) return step.receipt;
  } while (Date.now() < until);
  throw new AppError("ERASURE_UNFINISHED", {
    detail: "More is stored of this person than one request can erase. Ask again: it continues.",
  });
}
