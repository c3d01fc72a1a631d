/** /__sim: what only a test or the demo may do. Look at the state and the log, script faults, move the clock, set up accounts. */
import { randomUUID } from "node:crypto";
import { newAccount, newAction, newGrant } from "./accounts.ts";
import { adjustByHand, type HandAdjustment } from "./adjust-by-hand.ts";
import { conversionKey } from "./book.ts";
import { faultFields, faultTargets } from "./faults.ts";
import { bookScriptFile, type ScriptFile } from "./script-upload.ts";
import type { Sim } from "./sim.ts";
import {
  type Account,
  type Answer,
  type Call,
  type ConversionAction,
  type Fault,
  faultKinds,
  type Grant,
  type OauthClient,
  type SentRow,
} from "./sim-shapes.ts";

interface AdminAnswer extends Answer {
  /** Set where the call stands for an upload and belongs in the log. */
  logged?: { method: string; accounts: string[]; rows: SentRow[] };
}

type Handler = (sim: Sim, body: unknown, call: Call) => AdminAnswer;
const ok = (body: unknown): AdminAnswer => ({ status: 200, body });

/** A misspelt fault or setting would do nothing, and a test would pass for the wrong reason. */
function requireKnown(body: unknown, known: readonly string[]): void {
  const unknown = Object.keys(body as object).filter((name) => !known.includes(name));
  if (unknown.length > 0) throw new Error(`There is no ${unknown.join(", ")}. Known: ${known.join(", ")}.`);
}

/** `times: null` means "every call", so only an absent one is the usual single call. */
const addFault: Handler = ({ store }, body) => {
  const { kind, match = {} } = body as Partial<Fault>;
  requireKnown(body, faultFields);
  requireKnown(match, ["service", "method", "account"]);
  if (!kind || !faultKinds.includes(kind)) throw new Error(`There is no fault ${kind}. Known: ${faultKinds.join(", ")}.`);
  const targets: string[] = Object.keys(faultTargets);
  if (match.service && !targets.includes(match.service))
    throw new Error(`There is no service ${match.service}. Known: ${targets.join(", ")}.`);
  const methods: string[] = Object.values(faultTargets).flat();
  if (match.method && !methods.includes(match.method)) throw new Error(`There is no method ${match.method}. Known: ${methods.join(", ")}.`);
  const fault: Fault = { match: {}, times: 1, after: 0, ...(body as Partial<Fault> & Pick<Fault, "kind">), id: randomUUID() };
  store.put("faults", fault.id, fault);
  return ok(fault);
};

interface AccountChange extends Omit<Partial<Account>, "conversionActions" | "refreshTokens"> {
  customerId: string;
  conversionActions?: (Partial<ConversionAction> & { id: string })[];
  refreshTokens?: (string | (Partial<Grant> & { token: string }))[];
  client?: OauthClient;
}

/** Makes an account or changes one; lists are replaced. */
const putAccount: Handler = ({ store }, body) => {
  const { client, conversionActions, refreshTokens, ...rest } = body as AccountChange;
  if (!/^\d{10}$/.test(rest.customerId)) throw new Error("customerId has ten digits.");
  requireKnown(rest, [...Object.keys(newAccount("")), "conversionCustomerId"]);
  const known = store.get("accounts", rest.customerId) ?? newAccount(rest.customerId);
  const grantOf = (given: string | (Partial<Grant> & { token: string })) =>
    newGrant({ ...(client && { clientId: client.clientId }), ...(typeof given === "string" ? { token: given } : given) });
  const account = {
    ...known,
    ...rest,
    ...(conversionActions && { conversionActions: conversionActions.map(newAction) }),
    ...(refreshTokens && { refreshTokens: refreshTokens.map(grantOf) }),
  };
  if (client) store.put("clients", client.clientId, client);
  store.put("accounts", account.customerId, account);
  return ok(account);
};

const showState: Handler = ({ store, now }) =>
  ok({
    now: new Date(now()).toISOString(),
    waiting: store.entries("waiting").length,
    conversions: store.values("conversions").map(({ conversionTime, restatedAt, ...conversion }) => ({
      key: conversionKey({ ...conversion, conversionTime, restatedAt }),
      ...conversion,
      conversionTime: new Date(conversionTime).toISOString(),
      restatedAt: restatedAt === null ? null : new Date(restatedAt).toISOString(),
    })),
  });

const handlers: Record<string, Handler> = {
  "GET /state": showState,
  "GET /log": ({ store }, _, { url }) => ok({ calls: store.log.slice(Number(url.searchParams.get("after") ?? 0)), last: store.log.length }),
  "GET /faults": ({ store }) => ok({ faults: store.values("faults") }),
  "POST /faults": addFault,
  "DELETE /faults": ({ store }) => {
    for (const [id] of store.entries("faults")) store.remove("faults", id);
    return ok({ faults: [] });
  },
  "POST /clock": ({ store, now }, body) => {
    const { advanceSeconds } = body as { advanceSeconds: number };
    if (!Number.isFinite(advanceSeconds)) throw new Error("Give advanceSeconds.");
    store.put("clock", "", (store.get("clock", "") ?? 0) + advanceSeconds * 1000);
    return ok({ now: new Date(now()).toISOString() });
  },
  "POST /settings": ({ store, settings }, body) => {
    requireKnown(body, Object.keys(settings()));
    store.put("settings", "", { ...settings(), ...(body as object) });
    return ok(settings());
  },
  "GET /accounts": ({ store }) => ok({ accounts: store.values("accounts") }),
  "POST /accounts": putAccount,
  "POST /script-uploads": (sim, body, { requestId }) => {
    const file = body as ScriptFile;
    const { outcome, rows } = bookScriptFile(sim, file, requestId);
    return { ...ok(outcome), logged: { method: "upload", accounts: [file.customerId], rows } };
  },
  "POST /by-hand": (sim, body) => {
    const adjustment = body as HandAdjustment;
    const { isFound, row } = adjustByHand(sim, adjustment);
    return { ...ok({ isFound }), logged: { method: "by-hand", accounts: [adjustment.customerId], rows: [row] } };
  },
};

export function answerAdmin(sim: Sim, call: Call): AdminAnswer {
  const handler = handlers[`${call.httpMethod} ${call.url.pathname.replace("/__sim", "")}`];
  if (!handler) return { status: 404, body: { error: "no such admin call" } };
  try {
    return handler(sim, call.text ? JSON.parse(call.text) : {}, call);
  } catch (error) {
    return { status: 400, body: { error: error instanceof Error ? error.message : String(error) } };
  }
}
