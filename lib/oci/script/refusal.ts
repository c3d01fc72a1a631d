import { problemResponse } from "#lib/http/problem.ts";

/** A refusal in the shape that installed Google Ads Scripts read. */
export async function scriptRefusal(error: unknown, requestId: string): Promise<Response> {
  const problem = problemResponse(error, requestId);
  const { title, code, detail } = await problem.json();
  const headers = new Headers(problem.headers);
  headers.set("content-type", "application/json");
  const body = { error: title, code: code === "INTERNAL" ? "SERVER_ERROR" : code, message: detail };
  return new Response(JSON.stringify(body), { status: problem.status, headers });
}
