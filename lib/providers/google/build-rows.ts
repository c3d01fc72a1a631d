import type { ApiTransport, ConversionJob, UploadResult } from "#lib/providers/port.ts";

/** What each job looks like in a request. A row that cannot be written fails by itself and is never sent with another time or value. */
export function buildRows<Row>(jobs: readonly ConversionJob[], transport: ApiTransport, build: (job: ConversionJob) => Row) {
  const rows = new Map<string, Row>();
  const refused: UploadResult[] = [];
  for (const job of jobs) {
    try {
      rows.set(job.id, build(job));
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      const failed = { status: "FAILED", category: "VALIDATION", code: "INVALID_CONVERSION_TIME" } as const;
      refused.push({ id: job.id, transport, ...failed, message: error.message });
    }
  }
  return { rows, sendable: jobs.filter(({ id }) => rows.has(id)), refused };
}

/** gclid with gbraid is allowed; wbraid goes alone. */
export function clickIds({ gclid, gbraid, wbraid }: ConversionJob) {
  if (gclid || gbraid) return { ...(gclid && { gclid }), ...(gbraid && { gbraid }) };
  return wbraid ? { wbraid } : null;
}

/** A hashed number is sent only with the visitor's consent. A sale from elsewhere has an e-mail hash only with its customer's consent. */
export function identifierHashes({ phoneHash, emailHash, consent }: ConversionJob) {
  return { phoneHash: consent === "GRANTED" ? phoneHash : null, emailHash };
}
