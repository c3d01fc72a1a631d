import { readFileSync } from "node:fs";
import { cronMatches } from "./cron-expression.ts";

export interface CronTickerOptions {
  baseUrl: string;
  cronSecret: string;
  vercelJsonPath: string;
  /** Paths that are called every `oftenSeconds` in place of their schedule. */
  often?: string[];
  oftenSeconds?: number;
  now?: () => Date;
  /** Where failures are reported; the console when not given. */
  report?: (line: string) => void;
}

export interface CronTicker {
  /** Calls what is due in that minute and resolves when all calls have ended. */
  tick(at: Date): Promise<void>;
  /** Calls the paths of `often` once. */
  tickOften(): Promise<void>;
  stop(): void;
}

interface CronJob {
  path: string;
  schedule: string;
}

const minuteMs = 60_000;
const callMaxMs = 300_000;

/**
 * Calls the cron routes of vercel.json at each minute, as Vercel does. Minutes missed while asleep stay missed. A path in `often` is called
 * every few seconds instead, and its failures are reported when they begin and not again until they change.
 */
export function startCronTicker(options: CronTickerOptions): CronTicker {
  const { baseUrl, cronSecret, often = [], oftenSeconds = 5, now = () => new Date(), report = console.error } = options;
  const listed: CronJob[] = JSON.parse(readFileSync(options.vercelJsonPath, "utf8")).crons ?? [];
  const jobs = listed.filter(({ path }) => !often.includes(path));
  // A malformed schedule stops the start here rather than the tick at some later minute.
  for (const job of jobs) cronMatches(job.schedule, now());
  const running = new Set<string>();
  const stopping = new AbortController();
  const lastFailure = new Map<string, string | undefined>();
  let timer: NodeJS.Timeout;

  async function call(job: CronJob): Promise<void> {
    if (running.has(job.path)) return report(`cron ${job.path}: the previous run is still going, this one is skipped`);
    const failure = await run(job);
    if (failure) report(`cron ${job.path}: ${failure}`);
  }

  /** A run that takes longer than a few seconds is not reported. */
  async function callOften(path: string): Promise<void> {
    if (running.has(path)) return;
    const failure = await run({ path, schedule: `every ${oftenSeconds} seconds` });
    // Its first word, the status: what follows carries an id that is new each time.
    const kind = failure?.split(" ")[0];
    if (failure && kind !== lastFailure.get(path)) report(`cron ${path}: ${failure}`);
    lastFailure.set(path, kind);
  }

  /** What went wrong; null when nothing did. */
  async function run({ path, schedule }: CronJob): Promise<string | null> {
    running.add(path);
    try {
      const response = await fetch(new URL(path, baseUrl), {
        headers: { authorization: `Bearer ${cronSecret}`, "user-agent": "vercel-cron/1.0", "x-vercel-cron-schedule": schedule },
        signal: AbortSignal.any([stopping.signal, AbortSignal.timeout(callMaxMs)]),
      });
      const body = await response.text();
      return response.ok ? null : `${response.status} ${body.slice(0, 200)}`;
    } catch (error) {
      return stopping.signal.aborted ? null : error instanceof Error ? error.message : String(error);
    } finally {
      running.delete(path);
    }
  }

  async function tick(at: Date): Promise<void> {
    await Promise.all(jobs.filter((job) => cronMatches(job.schedule, at)).map(call));
  }

  async function tickOften(): Promise<void> {
    await Promise.all(often.map(callOften));
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
  const oftenTimer = often.length > 0 ? setInterval(() => void tickOften(), oftenSeconds * 1000) : undefined;

  return {
    tick,
    tickOften,
    stop() {
      clearInterval(oftenTimer);
      clearTimeout(timer);
      stopping.abort();
    },
  };
}
