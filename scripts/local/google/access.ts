import { createHash } from "node:crypto";
import type { Sim } from "./sim.ts";
import type { Account, Grant } from "./sim-shapes.ts";

interface TokenPayload {
  grant: string;
  until: number;
}

const hashOf = (refreshToken: string) => createHash("sha256").update(refreshToken).digest("hex").slice(0, 24);

/** Holds no secret and needs no memory, so a restart of the simulator revokes nothing. */
export function issueAccessToken({ now, settings }: Sim, refreshToken: string): string {
  const payload: TokenPayload = { grant: hashOf(refreshToken), until: now() + settings().tokenSeconds * 1000 };
  return `ya29.${Buffer.from(JSON.stringify(payload)).toString("base64url")}`;
}

export type Caller = { grants: (Grant & { customerId: string })[] } | { problem: "missing" | "invalid" | "expired" | "revoked" };

/** Whose rights a bearer token carries. */
export function readCaller({ store, now }: Sim, authorization: string | undefined): Caller {
  if (!authorization) return { problem: "missing" };
  const payload = decode(authorization);
  if (!payload) return { problem: "invalid" };
  if (payload.until <= now()) return { problem: "expired" };
  const grants = store
    .values("accounts")
    .flatMap(({ customerId, refreshTokens }) => refreshTokens.map((grant) => ({ ...grant, customerId })));
  const own = grants.filter(({ token }) => hashOf(token) === payload.grant);
  return own.length > 0 ? { grants: own } : { problem: "revoked" };
}

function decode(authorization: string): TokenPayload | undefined {
  const [, text] = /^Bearer ya29\.([\w-]+)$/.exec(authorization) ?? [];
  try {
    const payload: TokenPayload = JSON.parse(Buffer.from(text ?? "", "base64url").toString());
    return Number.isFinite(payload.until) ? payload : undefined;
  } catch {
    return undefined;
  }
}

/** A login customer says through which manager the account is reached; without one, the account itself must be the person's. */
export function mayReach(grants: (Grant & { customerId: string })[], account: Account, loginCustomerId: string | undefined): boolean {
  return grants.some(({ customerId, via }) => {
    if (customerId !== account.customerId) return false;
    if (!via) return !loginCustomerId || loginCustomerId === account.customerId || account.managers.includes(loginCustomerId);
    return loginCustomerId === via && account.managers.includes(via);
  });
}
