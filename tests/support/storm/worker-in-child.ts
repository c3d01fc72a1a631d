/** A worker of the storm: does what the cron routes do, as it is told, until it dies. */
import type { Failpoint } from "./failpoints.ts";
import { armFailpoint, passAround, watchSteps } from "./failpoints.ts";
import { shiftDate } from "./shifted-date.ts";

export interface Order {
  work: "deliver" | "verdicts" | "recover" | "cap";
  limit: number;
  offsetMs: number;
  failpoint: Failpoint | null;
}
export type Outcome = { ok: true; answer: unknown } | { ok: false; error: string };

watchSteps();
const deadlineMs = 12_000;
const { processOfflineConversions } = await import("#lib/delivery/process-offline-conversions.ts");
const { pollVerdicts } = await import("#lib/delivery/poll-verdicts.ts");
const { capAttempts, recoverProcessing } = await import("#lib/oci/queue/recover.ts");
const { googleAds } = await import("#lib/providers/google-ads-platform.ts");

const google = googleAds();
const provider: typeof google = {
  ...google,
  uploadConversions: (...upload) => passAround("upload", () => google.uploadConversions(...upload)),
  readVerdicts: (...question) => passAround("readVerdicts", () => google.readVerdicts(...question)),
};

const works: Record<Order["work"], (limit: number) => Promise<unknown>> = {
  deliver: (limit) => processOfflineConversions({ limit, deadlineMs, provider }),
  verdicts: () => pollVerdicts({ deadlineMs, provider }),
  recover: () => recoverProcessing(15),
  cap: () => capAttempts({ min_age_minutes: 15 }),
};

process.on("message", async ({ work, limit, offsetMs, failpoint }: Order) => {
  shiftDate(offsetMs);
  armFailpoint(failpoint);
  const outcome: Outcome = await works[work](limit).then(
    (answer) => ({ ok: true, answer }),
    (error: unknown) => ({ ok: false, error: error instanceof Error ? `${error.message} ${error.stack}` : String(error) }),
  );
  armFailpoint(null);
  process.send?.(outcome);
});
process.once("disconnect", () => process.exit());
process.send?.("ready");
