/**
 * A new password needs the present one, as at hosted Supabase with "Require current password when updating": the gateway has no such
 * setting. Whoever came by a link from an e-mail does not know it, and for a quarter of an hour is not asked.
 */
type Ask = (request: Request) => Promise<Response>;

const linkLifeMs = 15 * 60_000;

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;
const readJson = async (message: Request | Response): Promise<Record<string, unknown>> => {
  const body: unknown = await message
    .clone()
    .json()
    .catch(() => null);
  return isRecord(body) ? body : {};
};

/** Not verified here: the gateway refuses a token that somebody made up. */
function sessionOf(token: unknown): string | null {
  if (typeof token !== "string") return null;
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8"));
    return isRecord(claims) && typeof claims.session_id === "string" ? claims.session_id : null;
  } catch {
    return null;
  }
}

/** `ask` with the question in front of it. */
export function askingPresentPassword(ask: Ask): Ask {
  const cameByLink = new Map<string, number>();

  const post = (origin: Request, path: string, headers: Record<string, string>, body: unknown) =>
    ask(
      new Request(new URL(path, origin.url), {
        method: "POST",
        headers: { apikey: origin.headers.get("apikey") ?? "", "content-type": "application/json", ...headers },
        body: JSON.stringify(body),
      }),
    );

  async function isPresent(request: Request, email: unknown, password: unknown): Promise<boolean> {
    if (typeof password !== "string" || password === "") return false;
    const answer = await post(request, "/auth/v1/token?grant_type=password", {}, { email, password });
    if (!answer.ok) return false;
    const { access_token: token } = await readJson(answer);
    await post(request, "/auth/v1/logout?scope=local", { authorization: `Bearer ${token}` }, {}); // the session of this question
    return true;
  }

  async function changeUser(request: Request): Promise<Response> {
    const { password, current_password: present } = await readJson(request);
    const session = sessionOf(request.headers.get("authorization")?.slice("Bearer ".length));
    if (password === undefined || (session !== null && (cameByLink.get(session) ?? 0) > Date.now())) return ask(request);
    const user = await ask(new Request(request.url, { headers: request.headers }));
    if (!user.ok) return user;
    if (await isPresent(request, (await readJson(user)).email, present)) return ask(request);
    const msg = "Current password required when setting new password.";
    return Response.json({ code: 400, error_code: "current_password_required", msg }, { status: 400 });
  }

  return async (request) => {
    const path = decodeURI(new URL(request.url).pathname).replace(/\/+$/, "");
    if (request.method === "PUT" && path === "/auth/v1/user") return changeUser(request);
    const answer = await ask(request);
    if (path === "/auth/v1/verify" && answer.ok) {
      const session = sessionOf((await readJson(answer)).access_token);
      if (session) cameByLink.set(session, Date.now() + linkLifeMs);
    }
    return answer;
  };
}
