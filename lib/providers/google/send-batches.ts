import type { ConversionJob, ProviderBlock, QuotaEnd, Upload, UploadResult } from "#lib/providers/port.ts";
import { asProviderError } from "#lib/providers/provider-error.ts";

/** One request's worth of jobs. */
export interface Batch {
  jobs: ConversionJob[];
  /** It is part of a request that Google refused: what is left when the calls run out waits, and says this. */
  refusal?: { code: string; message: string };
}

export interface BatchAnswer {
  results: UploadResult[];
  /** Parts to send again, because some other row of the request was at fault. */
  again?: Batch[];
  block?: ProviderBlock;
  quota?: QuotaEnd;
  /** Google answers the same to whatever else is waiting: this is its result. */
  resultOfRest?: (job: ConversionJob) => UploadResult;
}

/** Enough to find a few bad rows among 2,000. When every row is bad, finding them one by one would take thousands of calls. */
const repeatedCallsMax = 40;

/** Rows for one request each: same kind of request, within Google's limit, and no order id twice, which Google refuses. */
export function splitJobs(jobs: readonly ConversionJob[], rowsMax: number, requestOf: (job: ConversionJob) => string): Batch[] {
  const batches: Batch[] = [];
  const open = new Map<string, { batch: Batch; orderIds: Set<string> }[]>();
  for (const job of jobs) {
    const candidates = open.get(requestOf(job)) ?? [];
    open.set(requestOf(job), candidates);
    let place = candidates.find(({ batch, orderIds }) => batch.jobs.length < rowsMax && !orderIds.has(job.orderId));
    if (!place) {
      place = { batch: { jobs: [] }, orderIds: new Set() };
      candidates.push(place);
      batches.push(place.batch);
    }
    place.batch.jobs.push(job);
    place.orderIds.add(job.orderId);
  }
  return batches;
}

/** Sends batch after batch. Whatever was decided before a call fails travels with the error. */
export async function sendBatches(
  batches: readonly Batch[],
  send: (jobs: ConversionJob[]) => Promise<BatchAnswer>,
  decided: readonly UploadResult[] = [],
): Promise<Upload> {
  const upload: Upload = { results: [...decided] };
  const waiting = [...batches];
  let repeatedCalls = 0;
  try {
    for (let batch = waiting.shift(); batch; batch = waiting.shift()) {
      if (batch.refusal && ++repeatedCalls > repeatedCallsMax) {
        upload.results.push(...batch.jobs.map((job) => leftOver(job, batch.refusal)));
        continue;
      }
      const { results, again = [], block, quota, resultOfRest } = await send(batch.jobs);
      upload.results.push(...results);
      if (block) upload.block = block;
      if (quota) upload.quota = quota;
      if (resultOfRest) upload.results.push(...waiting.splice(0).flatMap(({ jobs }) => jobs.map(resultOfRest)));
      waiting.unshift(...again);
    }
  } catch (error) {
    const failure = asProviderError(error);
    failure.decided = upload;
    throw failure;
  }
  return upload;
}

/** Refused together with other rows, and never tried alone: it has its own code and spends no attempt. */
function leftOver({ id, via }: ConversionJob, refusal: Batch["refusal"]): UploadResult {
  const message = `Not tried alone yet. Google refused the request: ${refusal?.code}: ${refusal?.message}`;
  return { id, transport: via, status: "RETRY", category: "TRANSIENT", code: "REFUSED_WITH_OTHERS", message, isFreeWait: true };
}
