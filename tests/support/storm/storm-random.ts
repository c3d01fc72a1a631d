import { seededRandom } from "#scripts/local/seeded-random.ts";

/** Every decision of a storm comes from here, so its seed replays them. What races with what is still the machine's. */
export class StormRandom {
  readonly #next: () => number;
  constructor(seed: number) {
    this.#next = seededRandom(seed);
  }

  chance(share: number): boolean {
    return this.#next() < share;
  }

  /** From `min` to `max`, both included. */
  integer(min: number, max: number): number {
    return min + Math.floor(this.#next() * (max - min + 1));
  }

  pick<T>(items: readonly T[]): T {
    const item = items[this.integer(0, items.length - 1)];
    if (item === undefined) throw new Error("There is nothing to pick from.");
    return item;
  }

  /** Mostly one of the newest, which are the ones under way. */
  recent<T>(items: readonly T[]): T {
    return this.pick(this.chance(0.7) ? items.slice(-80) : items);
  }

  /** By weight. */
  weighed<T>(choices: readonly (readonly [weight: number, choice: T])[]): T {
    let left = this.#next() * choices.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, choice] of choices) {
      left -= weight;
      if (left < 0) return choice;
    }
    throw new Error("There is nothing to choose from.");
  }
}
