import type postgres from "postgres";
import { claimForWorker, minutesLater, sealLead, service } from "./queue.ts";
import { callAs, type Person, type Team } from "./team.ts";

/** The names under which a site's conversions are sent while its owner chose no others. */
export const defaultNames = {
  seal: "OpsMantik_V5_DEMIR_MUHUR",
  MEETING_BOOKED: "OpsMantik_V4_Sicak_Teklif",
  SEAL_PENDING: "OpsMantik_V3_Nitelikli_Gorusme",
  INTENT_CAPTURED: "OpsMantik_V2_Ilk_Temas",
} as const;

export const actionOf = (number: number) => `customers/1234567890/conversionActions/${number}`;

export const defaultActions = Object.values(defaultNames).map((conversionName, index) => ({
  conversionName,
  action: actionOf(index + 1),
  countingType: "MANY_PER_CLICK",
}));

export interface ConnectionOptions {
  transport?: "data_manager" | "ads_api";
  actions?: { conversionName: string; action: string; googleName?: string; countingType?: string }[];
  sealed?: string;
  keyId?: string;
  /** The end of the OAuth client's id. */
  clientIdTail?: string;
  at?: Date;
}

/** Connects a site as its owner does, or gives it new credentials. What is sealed here opens with no key. */
export function connectApi(sql: postgres.Sql, team: Team, options: ConnectionOptions = {}): Promise<{ version: number }> {
  const { transport = "data_manager", actions = defaultActions, sealed = "c2VhbGVkIGJ5IG5vYm9keQ==", keyId = "00000000", at } = options;
  const customerId = actions[0]?.action.split("/")[1] ?? "1234567890"; // of the account that the actions are in
  const account = { customerId, clientIdTail: options.clientIdTail ?? "nobody", hasDeveloperToken: false };
  const connection = { provider: "google_ads", transport, keyId, sealed, account, actions };
  return callAs(sql, team.owner, (tx) => tx`select public.connect_provider(${team.publicId}, ${tx.json(connection)})`, at);
}

/** What a member sees of the connection. */
export interface ConnectionView {
  syncMethod: "script" | "api";
  connected: boolean;
  transport: string | null;
  account: Record<string, unknown> | null;
  connectedBy: string | null;
  testedAt: string | null;
  testError: { code: string; message: string | null } | null;
  actions: { conversionName: string; action: string; testedAt: string | null; blocked: { code: string } | null }[];
  health: {
    state: string;
    failureCount: number;
    quotaUntil: string | null;
    blocked: { code: string; message: string | null } | null;
  } | null;
}

export function readConnection(sql: postgres.Sql, team: Team, person: Pick<Person, "id"> = team.viewer): Promise<ConnectionView> {
  return callAs(sql, person, (tx) => tx`select public.provider_connection(${team.publicId})`);
}

/** Seals a lead, claims it for a worker and lets the provider refuse the credentials. Gives the row's id. */
export async function failAuth(sql: postgres.Sql, team: Team, at: Date = minutesLater(1)): Promise<string> {
  const { id } = await sealLead(sql, team);
  const { token, rows } = await claimForWorker(sql, team, { at });
  if (!rows.some((row) => row.id === id)) throw new Error("The row was not claimed.");
  const results = rows.map((row) => ({ id: row.id, outcome: "FAILED", code: "invalid_grant", category: "AUTH", words: "revoked" }));
  await service(sql, "settle_offline_conversion_jobs", { p_site_id: team.siteId, p_token: token, p_results: results }, at);
  return id;
}
