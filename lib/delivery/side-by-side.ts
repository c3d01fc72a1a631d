/** Works on the items, at most so many at once, in their order. One that throws is told of and does not stop the others. */
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
