export interface SendFailure {
  ok: false;
  /** A key of the `errors` messages, or a code this version has no words for yet. */
  code: string;
  requestId: string | null;
  /** Code of the first error of each field. An error inside a list counts for the list. */
  fields: Record<string, string>;
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

/** Calls one of our JSON routes. It never throws: no connection is the code OFFLINE, an answer without a code is INTERNAL. */
export async function sendJson(method: "POST" | "PATCH" | "DELETE", url: string, body: unknown = {}): Promise<Sent> {
  let response: Response;
  try {
    response = await fetch(url, { method, headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  } catch {
    return { ok: false, code: "OFFLINE", requestId: null, fields: {} };
  }
  const value = await readBody(response);
  if (response.ok) return { ok: true, value };
  return {
    ok: false,
    code: typeof value.code === "string" ? value.code : "INTERNAL",
    requestId: typeof value.requestId === "string" ? value.requestId : response.headers.get("x-request-id"),
    fields: readFields(value.errors),
  };
}
