import { readFileSync } from "node:fs";
import { cronMatches } from "./cron-expression.ts";

export interface CronTickerOptions {
  baseUrl: string;
  cronSecret: string;
  vercelJsonPath: string;
  now?: () => Date;
  /** Where failures are told; the console when not given. */
  report?: (line: string) => void;
}

export interface CronTicker {
  /** Calls what is due in that minute and resolves when all calls have ended. */
  tick(at: Date): Promise<void>;
  stop(): void;
}

interface CronJob {
  path: string;
  schedule: string;
}

const minuteMs = 60_000;
const callMaxMs = 300_000;

/** Calls the cron routes of vercel.json at each minute, as Vercel does. Minutes missed while asleep stay missed. */
export function startCronTicker(options: CronTickerOptions): CronTicker {
  const { baseUrl, cronSecret, now = () => new Date(), report = console.error } = options;
  const jobs: CronJob[] = JSON.parse(readFileSync(options.vercelJsonPath, "utf8")).crons ?? [];
  // A malformed schedule stops the start here rather than the tick at some later minute.
  for (const job of jobs) cronMatches(job.schedule, now());
  const running = new Set<string>();
  const stopping = new AbortController();
  let timer: NodeJS.Timeout;

  async function call({ path, schedule }: CronJob): Promise<void> {
    if (running.has(path)) return report(`cron ${path}: the previous run is still going, this one is skipped`);
    running.add(path);
    try {
      const response = await fetch(new URL(path, baseUrl), {
        headers: { authorization: `Bearer ${cronSecret}`, "user-agent": "vercel-cron/1.0", "x-vercel-cron-schedule": schedule },
        signal: AbortSignal.any([stopping.signal, AbortSignal.timeout(callMaxMs)]),
      });
      const body = await response.text();
      if (!response.ok) report(`cron ${path}: ${response.status} ${body.slice(0, 200)}`);
    } catch (error) {
      if (!stopping.signal.aborted) report(`cron ${path}: ${error instanceof Error ? error.message : String(error)}`);
    } finally {
      running.delete(path);
    }
  }

  async function tick(at: Date): Promise<void> {
    await Promise.all(jobs.filter((job) => cronMatches(job.schedule, at)).map(call));
  }

  function scheduleNext(): void {
    const nextMinute = new Date((Math.floor(now().getTime() / minuteMs) + 1) * minuteMs);
    timer = setTimeout(
      () => {
        // Timers may fire a little early; the minute meant is the one we waited for.
        void tick(nextMinute);
        scheduleNext();
      },
      Math.max(nextMinute.getTime() - now().getTime(), 1_000),
    );
  }
  scheduleNext();

  return {
    tick,
    stop() {
      clearTimeout(timer);
      stopping.abort();
    },
  };
}
