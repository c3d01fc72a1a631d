import { AppError } from "#lib/platform/app-error.ts";

const triesMax = 3;

/** Two transactions that meet crosswise: Postgres ends one of them, which is simply tried again. */
export async function retryDeadlocks<T>(run: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await run();
    } catch (error) {
      const isDeadlock = error instanceof AppError && (error.facts.cause as { code?: string } | undefined)?.code === "40P01";
      if (!isDeadlock || attempt === triesMax) throw error;
    }
  }
}
