/** The times of one run, so that it ends by itself before the platform ends it. */
export interface RunBudget {
  /** There is time to claim, send and settle another batch. */
  mayClaim(): boolean;
  /** Aborts uploads, while there is still time to settle. */
  uploadSignal: AbortSignal;
  /** There is time to try again to settle. */
  maySettle(): boolean;
}

const claimShare = 0.6;
const uploadShare = 0.85;

/** A run claims in the first 60 % of its time, sends until 85 % and settles until its end. */
export function startBudget(deadlineMs: number): RunBudget {
  const startedAt = performance.now();
  const isWithin = (share: number) => performance.now() - startedAt < deadlineMs * share;
  return {
    mayClaim: () => isWithin(claimShare),
    uploadSignal: AbortSignal.timeout(Math.round(deadlineMs * uploadShare)),
    maySettle: () => isWithin(1),
  };
}

/** Works on the items in order, at most `max` at once. An item that throws goes to `onError` and does not stop the others. */
export async function sideBySide<Item, Result>(
  items: readonly Item[],
  { max, work, onError }: { max: number; work: (item: Item) => Promise<Result>; onError: (item: Item, error: unknown) => Result },
): Promise<Result[]> {
  const results: Result[] = [];
  const waiting = items.entries();
  const worker = async () => {
    for (const [index, item] of waiting) {
      results[index] = await work(item).catch((error: unknown) => onError(item, error));
    }
  };
  await Promise.all(Array.from({ length: Math.min(max, items.length) }, worker));
  return results;
}
