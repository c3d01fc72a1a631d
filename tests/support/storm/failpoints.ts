import { registerHooks } from "node:module";

/**
 * Where a worker dies. The product has no code for it: in a worker's process two of its modules, the door to the database and the semaphore,
 * are replaced by ones that call the original and pass a point before and after. The provider is an argument of the worker anyway, and
 * fetch is the process's own.
 */
export interface Failpoint {
  /** A step, followed by `.before`, `.during` (it has begun, and nobody will hear how it ended) or `.after`. */
  point: string;
  /** The worker dies when it passes the point so often. */
  nth: number;
}

let armed: Failpoint | null = null;

export function armFailpoint(failpoint: Failpoint | null): void {
  armed = failpoint && { ...failpoint };
}

const die = () => process.kill(process.pid, "SIGKILL");

function isHit(point: string): boolean {
  if (armed?.point !== point) return false;
  armed.nth -= 1;
  return armed.nth <= 0;
}

export async function passAround<T>(name: string, work: () => Promise<T>): Promise<T> {
  if (isHit(`${name}.before`)) die();
  const running = work();
  if (isHit(`${name}.during`)) setTimeout(die, 1); // time enough to have been sent, too short for most answers
  const result = await running;
  if (isHit(`${name}.after`)) die();
  return result;
}

const originals = new Map(
  ["lib/db/call-rpc.ts", "lib/delivery/semaphore.ts"].map((path) => [
    new URL(`../../../${path}`, import.meta.url).href,
    new URL(`./watched-${path.split("/").pop()}`, import.meta.url).href,
  ]),
);

/** Call before anything of the product is imported. */
export function watchSteps(): void {
  registerHooks({
    resolve(specifier, context, nextResolve) {
      const resolved = nextResolve(specifier, context);
      return { ...resolved, url: originals.get(resolved.url) ?? resolved.url };
    },
  });
  const realFetch = globalThis.fetch;
  globalThis.fetch = (...request) => passAround("fetch", () => realFetch(...request));
}
