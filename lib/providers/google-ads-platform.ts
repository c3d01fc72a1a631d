import { type IngestJob, ingestEvents } from "./data-manager/ingest-events.ts";
import { readVerdicts } from "./data-manager/read-verdicts.ts";
import { listConversionActions } from "./google-ads/search-ads.ts";
import { uploadRows } from "./google-ads/upload-rows.ts";
import type { ConversionJob, Provider, ProviderConnection, Upload } from "./port.ts";
import { asProviderError, type ProviderRateLimitError, type ProviderTransientError } from "./provider-error.ts";
import { testConnection } from "./test-connection.ts";

interface UploadOptions {
  signal?: AbortSignal;
  validateOnly?: boolean;
}

/** Data Manager cannot take a conversion back, so a RETRACT goes to the Ads API whatever the row says. */
function isIngestJob(job: ConversionJob): job is IngestJob {
  return job.via === "data_manager" && job.kind !== "RETRACT";
}

function joined(uploads: readonly Upload[]): Upload {
  const block = uploads.map((upload) => upload.block).find(Boolean);
  const quota = uploads.map((upload) => upload.quota).find(Boolean);
  return { results: uploads.flatMap(({ results }) => results), ...(block && { block }), ...(quota && { quota }) };
}

/** An upload, or what was decided of it before it failed, whatever the failure. */
async function attempt(run: () => Promise<Upload>): Promise<{ upload: Upload; failure?: ProviderRateLimitError | ProviderTransientError }> {
  try {
    return { upload: await run() };
  } catch (error) {
    const failure = asProviderError(error);
    return { upload: failure.decided, failure };
  }
}

/** Each job by its own API. One API that fails does not keep the other's jobs from going out; the error carries what both decided. */
async function upload(jobs: readonly ConversionJob[], connection: ProviderConnection, options: UploadOptions): Promise<Upload> {
  const answers = [
    await attempt(() => ingestEvents(jobs.filter(isIngestJob), connection, options)),
    await attempt(() =>
      uploadRows(
        jobs.filter((job) => !isIngestJob(job)),
        connection,
        options,
      ),
    ),
  ];
  const whole = joined(answers.map((answer) => answer.upload));
  const failure = answers.map((answer) => answer.failure).find(Boolean);
  if (!failure) return whole;
  failure.decided = whole;
  throw failure;
}

/** Google Ads, over Data Manager or the Google Ads API. */
export function googleAds(): Provider {
  return {
    uploadConversions: (jobs, connection, signal) => upload(jobs, connection, { signal }),
    validateConversion: (job, connection, signal) => upload([job], connection, { signal, validateOnly: true }),
    readVerdicts,
    testConnection,
    listConversionActions,
  };
}
