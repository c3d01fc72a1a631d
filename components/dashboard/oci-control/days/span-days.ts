import { lastDays, todayIn } from "#lib/oci/queue/day-span.ts";
import type { ViewSpan } from "#lib/oci/queue/view.ts";

/** The first and the last day that the report shows. */
export const spanDays = (span: ViewSpan, timeZone: string, now: Date): { from: string; to: string } =>
  "from" in span ? span : lastDays(span.last, todayIn(timeZone, now));
