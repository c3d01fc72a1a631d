/** The longest wait for an answer, so that a change that needs it does not hang. */
const waitMs = 10_000;

/** Asks one of our JSON routes. Null: no connection, or an answer that is not one. */
export async function getJson<Answer>(path: string, query: Record<string, string> = {}): Promise<Answer | null> {
  try {
    const response = await fetch(`${path}?${new URLSearchParams(query)}`, { cache: "no-store", signal: AbortSignal.timeout(waitMs) });
    return response.ok ? ((await response.json()) as Answer) : null; // the route's own zod shape stands behind this type
  } catch {
    return null;
  }
}
