import type postgres from "postgres";
import { callAs, type Team } from "./team.ts";

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
  actions?: { conversionName: string; action: string; countingType?: string }[];
  sealed?: string;
  keyId?: string;
  at?: Date;
}

/** Connects a site as its owner does, or gives it new credentials. What is sealed here opens with no key. */
export function connectApi(sql: postgres.Sql, team: Team, options: ConnectionOptions = {}): Promise<{ version: number }> {
  const { transport = "data_manager", actions = defaultActions, sealed = "c2VhbGVkIGJ5IG5vYm9keQ==", keyId = "00000000", at } = options;
  const account = { customerId: "1234567890", clientIdTail: "nobody", hasDeveloperToken: false };
  const connection = { provider: "google_ads", transport, keyId, sealed, account, actions };
  return callAs(sql, team.owner, (tx) => tx`select public.connect_provider(${team.publicId}, ${tx.json(connection)})`, at);
}
