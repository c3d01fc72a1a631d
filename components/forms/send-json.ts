export interface SendFailure {
  ok: false;
  /** A key of the `errors` messages, or a code this version has no message for. */
  code: string;
  requestId: string | null;
  /** Code of the first error of each field. An error inside a list counts for the list. */
  fields: Record<string, string>;
  /** What else the answer says, for example who was faster. */
  facts: Record<string, unknown>;
}
export type Sent = { ok: true; value: Record<string, unknown> } | SendFailure;

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function readFields(errors: unknown): Record<string, string> {
  const fields: Record<string, string> = {};
  if (!Array.isArray(errors)) return fields;
  for (const error of errors) {
    if (!isRecord(error) || typeof error.field !== "string" || typeof error.code !== "string") continue;
    fields[error.field.split(".")[0] ?? error.field] ??= error.code;
  }
  return fields;
}

async function readBody(response: Response): Promise<Record<string, unknown>> {
  const body: unknown = await response.json().catch(() => null);
  return isRecord(body) ? body : {};
}

/**
 * Calls one of our JSON routes. It never throws: no connection is the code OFFLINE, an answer without a code is INTERNAL.
 * A key makes a repetition harmless: the same key gets the same answer, and the change happens once.
 */
export async function sendJson(method: "POST" | "PATCH" | "DELETE", url: string, body: unknown = {}, key?: string): Promise<Sent> {
  let response: Response;
  try {
    const headers = { "content-type": "application/json", ...(key && { "idempotency-key": key }) };
    response = await fetch(url, { method, headers, body: JSON.stringify(body) });
  } catch {
    return { ok: false, code: "OFFLINE", requestId: null, fields: {}, facts: {} };
  }
  const value = await readBody(response);
  if (response.ok) return { ok: true, value };
  return {
    ok: false,
    code: typeof value.code === "string" ? value.code : "INTERNAL",
    requestId: typeof value.requestId === "string" ? value.requestId : response.headers.get("x-request-id"),
    fields: readFields(value.errors),
    facts: value,
  };
}
