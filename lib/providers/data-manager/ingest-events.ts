import { z } from "zod";
import { log } from "#lib/platform/log.ts";
import { buildRows } from "#lib/providers/google/build-rows.ts";
import { callGoogle, type GoogleAnswer } from "#lib/providers/google/call-google.ts";
import { googleHosts } from "#lib/providers/google/hosts.ts";
import { readRefusal } from "#lib/providers/google/read-refusal.ts";
import { type BatchAnswer, sendBatches, splitJobs } from "#lib/providers/google/send-batches.ts";
import type { ConversionJob, ProviderConnection, Upload } from "#lib/providers/port.ts";
import { ProviderTransientError } from "#lib/providers/provider-error.ts";
import { destinationOf, eventOf } from "./event-of.ts";

const eventsMax = 2_000;
const transport = "data_manager" as const;

/** Data Manager takes conversions and corrections of their value. It cannot take one back. */
export type IngestJob = ConversionJob & { kind: "CONVERSION" | "RESTATE" };

interface IngestOptions {
  signal?: AbortSignal;
  validateOnly?: boolean;
}

const accepted = z.object({
  requestId: z.string().min(1),
  fieldWarnings: z.array(z.object({ reason: z.string().catch("") })).catch([]),
});

/** Sends jobs to events:ingest, one request per conversion action, so that the verdicts of a request have one destination. */
export function ingestEvents(
  jobs: readonly IngestJob[],
  connection: ProviderConnection,
  { signal, validateOnly = false }: IngestOptions = {},
): Promise<Upload> {
  const { rows, sendable, refused } = buildRows(jobs, transport, eventOf);
  const batches = splitJobs(sendable, eventsMax, ({ conversionAction }) => conversionAction);
  const send = async (batch: ConversionJob[]) => {
    const body = {
      destinations: [destinationOf(batch[0]?.conversionAction ?? "", connection.credentials)],
      events: batch.map(({ id }) => rows.get(id)),
      encoding: "HEX",
      validateOnly,
    };
    const answer = await callGoogle({ url: `${googleHosts().dataManager}/events:ingest`, body, connection, signal });
    return readIngest(batch, answer);
  };
  return sendBatches(batches, send, refused);
}

function readIngest(jobs: ConversionJob[], answer: GoogleAnswer): BatchAnswer {
  if (answer.status >= 400) return readRefusal(jobs, answer, { transport, httpStatus: answer.status, requestId: answer.requestId });
  const parsed = accepted.safeParse(answer.body);
  // Without its id nobody could ask for the verdict. The same order ids sent again are the same conversions.
  if (!parsed.success) throw new ProviderTransientError("Data Manager answered 200 without a request id");
  const { requestId, fieldWarnings } = parsed.data;
  if (fieldWarnings.length > 0) {
    log.warn("Data Manager has warnings about an upload", { requestId, reasons: [...new Set(fieldWarnings.map(({ reason }) => reason))] });
  }
  return { results: jobs.map(({ id }, recordIndex) => ({ id, status: "COMPLETED", transport, requestId, recordIndex })) };
}
