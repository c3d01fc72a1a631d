import { z } from "zod";
import { callRpc } from "#lib/db/call-rpc.ts";
import { callAsUser, type SessionClient } from "#lib/db/session-client.ts";
import { parseInput } from "#lib/http/parse-input.ts";
import { type Credentials, credentialsSchema, describeAccount, sealCredentials } from "#lib/providers/credentials.ts";
import { googleAds } from "#lib/providers/google-ads-platform.ts";
import type { ConnectionTest, ProviderConnection } from "#lib/providers/port.ts";
import type { SiteId, SiteUuid } from "#lib/site.ts";
import { siteDelivery } from "#lib/tenancy/site-delivery.ts";
import { actionsAtGoogle, knownOf } from "./actions-at-google.ts";
import { withoutSecrets } from "./connection.ts";
import { findingOf } from "./connection-findings.ts";
import {
  type AccountInput,
  type ConnectAnswer,
  type ConnectInput,
  connectionState,
  type RotateInput,
  rotateInput,
  switchAnswer,
  switchPreview,
} from "./connection-shapes.ts";
import { orUnavailable, providerKey, requireConnection, siteUuidOf } from "./site-connection.ts";

/** What an owner does with a site's Google Ads connection. SQL checks the role; credentials are sealed before they leave this process. */

const done = z.object({ ok: z.literal(true) });
const kept = z.object({ version: z.number(), released: z.number() });

/** What the owner gave Google on its own page; it stands in for client and refresh token. */
export interface Consent {
  client_id: string;
  client_secret: string;
  refresh_token: string;
}

export const readConnection = (db: SessionClient, siteId: SiteId) =>
  callAsUser(db, "provider_connection", { p_public_id: siteId }, connectionState);

/** Tests the credentials, and keeps them when Google takes them. */
export async function connectGoogleAds(
  db: SessionClient,
  siteId: SiteId,
  input: ConnectInput,
  consent: Consent | null = null,
): Promise<ConnectAnswer> {
  const siteUuid = await siteUuidOf(siteId);
  const credentials = parseInput(credentialsSchema, input.refresh_token ? input : { ...input, ...consent });
  const test = await askGoogle({ siteUuid, version: 0, credentials });
  if (!test.ok) return { connected: false, released: 0, test: withRefused(test, []) };
  requireOwnAction(credentials, test);
  const sealAction = credentials.conversion_action_resource_name;
  const { googleName, countingType } = knownOf(await actionsAtGoogle({ siteUuid, version: 0, credentials }), sealAction);
  const seal = {
    sealAction,
    ...(googleName !== undefined && { sealActionName: googleName }),
    ...(countingType !== undefined && { sealActionCounting: countingType }),
  };
  return keep(db, siteId, { siteUuid, credentials, test, seal });
}

/**
 * We send Data Manager only the action's number, and it looks that number up in the connected account. The number of another account's action
 * would find the wrong one. The Ads API also takes actions of the account that Google named as the owner of its conversions. SQL refuses the others when actions are chosen.
 */
function requireOwnAction({ customer_id, transport, conversion_action_resource_name }: Credentials, { account }: ConnectionTest): void {
  const owners = [customer_id, transport === "ads_api" ? account?.conversionCustomerId : null];
  const own = z.string().refine((action) => owners.includes(action.split("/")[1]), "OTHER_ACCOUNT");
  parseInput(z.object({ conversion_action_resource_name: own }), { conversion_action_resource_name });
}

/** An expired consent gives no new access. */
const newAccess = rotateInput.extend({ refresh_token: z.string("REQUIRED") });

/** The same account with a new refresh token. It is kept when it opens the account, even if Google refuses the chosen actions. */
export async function rotateGoogleAds(
  db: SessionClient,
  siteId: SiteId,
  input: RotateInput,
  consent: Consent | null = null,
): Promise<ConnectAnswer> {
  const { siteUuid, credentials } = await requireConnection(siteId);
  const current = await withSealAction(db, siteId, credentials);
  const given = parseInput(newAccess, input.refresh_token ? input : (consent ?? {}));
  const renewed = parseInput(credentialsSchema, { ...current, ...given });
  const test = await askGoogle({ siteUuid, version: 0, credentials: renewed });
  if (!opensAccount(test)) return { connected: false, released: 0, test: withRefused(test, []) };
  return keep(db, siteId, { siteUuid, credentials: renewed, test });
}

const accountFields: (string | null)[] = ["customer_id", "login_customer_id"];
/** No answer or an unknown code does not count as opening the account. Some refusals of actions are about the account. */
const opensAccount = ({ checks }: ConnectionTest) =>
  checks.every(
    ({ ok, isRequired, isOfAction, code = "UNKNOWN" }) =>
      ok || !isRequired || (isOfAction && !accountFields.includes(findingOf(code).field)),
  );

interface Tested {
  siteUuid: SiteUuid;
  credentials: Credentials;
  test: ConnectionTest;
  /** Where sealed sales go from now on; left out, where they went before. */
  seal?: { sealAction: string; sealActionName?: string; sealActionCounting?: string };
}

async function keep(db: SessionClient, siteId: SiteId, { siteUuid, credentials, test, seal }: Tested): Promise<ConnectAnswer> {
  const sealed = sealedConnection(siteUuid, credentials);
  const owner = test.account?.conversionCustomerId;
  const account = { ...sealed.account, ...(owner && { conversionCustomerId: owner }) };
  const { version, released } = await callAsUser(
    db,
    "connect_provider",
    { p_public_id: siteId, p_connection: { ...sealed, account, ...seal } },
    kept,
  );
  const connection = { siteUuid, version, credentials };
  const tried = await tryActions(db, siteId, connection, test);
  const proven = await recordTest(connection, test, passedNames(tried));
  return { connected: true, released: released + proven, test: withRefused(test, tried) };
}

/** A connection as SQL keeps it. */
export function sealedConnection(siteUuid: SiteUuid, credentials: Credentials) {
  return {
    provider: providerKey,
    transport: credentials.transport,
    ...sealCredentials(credentials, siteUuid, providerKey),
    account: describeAccount(credentials),
  };
}

/** Tests the stored credentials and every chosen action. A passed test ends a block, and rows that it failed are queued again. */
export async function testGoogleAds(db: SessionClient, siteId: SiteId): Promise<ConnectAnswer> {
  const connection = await requireConnection(siteId);
  const credentials = await withSealAction(db, siteId, connection.credentials);
  const test = await askGoogle({ ...connection, credentials });
  const tried = await tryActions(db, siteId, { ...connection, credentials }, test);
  return { connected: true, released: await recordTest(connection, test, passedNames(tried)), test: withRefused(test, tried) };
}

/** A test of the account, without its secrets: some answers repeat the request. */
async function askGoogle(connection: ProviderConnection): Promise<ConnectionTest> {
  const { checks, error, ...test } = await orUnavailable(googleAds().testConnection(connection));
  const cleaned = <Said extends { message?: string }>(said: Said): Said =>
    said.message === undefined ? said : { ...said, message: withoutSecrets(said.message, connection) };
  return { ...test, checks: checks.map(cleaned), ...(error && { error: cleaned(error) }) };
}

interface TriedAction {
  conversionName: string;
  /** Why Google takes nothing for it; null when it does. */
  code: string | null;
}

/** Every chosen action and why Google refuses it, if it does. One was tested with the connection; the others are tested here. */
async function tryActions(db: SessionClient, siteId: SiteId, connection: ProviderConnection, test: ConnectionTest): Promise<TriedAction[]> {
  if (!opensAccount(test)) return [];
  const { actions } = await readConnection(db, siteId);
  const tryOne = async (action: string) => {
    if (action === connection.credentials.conversion_action_resource_name) return test;
    const credentials = { ...connection.credentials, conversion_action_resource_name: action };
    return askGoogle({ ...connection, credentials });
  };
  return Promise.all(
    actions.map(async ({ conversionName, action }) => {
      const { ok, error } = await tryOne(action);
      return { conversionName, code: ok ? null : (error?.code ?? "UNKNOWN") };
    }),
  );
}

const passedNames = (tried: TriedAction[]) => tried.filter(({ code }) => code === null).map(({ conversionName }) => conversionName);

/** The test as it is answered: one that passed names the other actions that Google refuses. */
function withRefused(test: ConnectionTest, tried: TriedAction[]): ConnectAnswer["test"] {
  const refused = tried.flatMap(({ conversionName, code }) => (code === null ? [] : [{ conversionName, code }]));
  return { ...test, refusedActions: test.ok ? refused : [] };
}

/** With the action that sealed sales go to now: the owner may have chosen another since the account was connected. */
async function withSealAction(db: SessionClient, siteId: SiteId, credentials: Credentials): Promise<Credentials> {
  const [{ actions }, { conversionNames }] = await Promise.all([
    readConnection(db, siteId),
    callAsUser(db, "site_delivery", { p_public_id: siteId }, siteDelivery),
  ]);
  const chosen = actions.find(({ conversionName }) => conversionName === conversionNames.seal);
  return chosen ? { ...credentials, conversion_action_resource_name: chosen.action } : credentials;
}

async function recordTest({ siteUuid, version }: ProviderConnection, test: ConnectionTest, passed: string[]): Promise<number> {
  const { released } = await callRpc(
    "record_provider_test",
    {
      p_site_id: siteUuid,
      p_provider_key: providerKey,
      p_version: version,
      p_ok: test.ok,
      p_passed: passed,
      ...(test.error && { p_error: { code: test.error.code, message: test.error.message } }),
    },
    z.object({ released: z.number() }),
  );
  return released;
}

/** The account's conversion actions, as Google lists them: of the stored connection, or of one that is being made. */
export async function listActions(siteId: SiteId, input: AccountInput, consent: Consent | null = null) {
  const connection = input.customer_id ? await draftConnection(siteId, input, consent) : await requireConnection(siteId);
  return orUnavailable(googleAds().listConversionActions(connection));
}

async function draftConnection(siteId: SiteId, input: AccountInput, consent: Consent | null): Promise<ProviderConnection> {
  const given = input.refresh_token ? input : { ...input, ...consent };
  // Reading the list needs no action; it is what is being chosen.
  const credentials = parseInput(credentialsSchema, { ...given, conversion_action_resource_name: "customers/0/conversionActions/0" });
  return { siteUuid: await siteUuidOf(siteId), version: 0, credentials };
}

export async function chooseActions(
  db: SessionClient,
  siteId: SiteId,
  actions: { conversionName: string; action: string; countingType?: string }[],
) {
  const listed = await actionsAtGoogle(requireConnection(siteId));
  const named = actions.map((chosen) => ({ ...chosen, ...knownOf(listed, chosen.action) }));
  return callAsUser(db, "set_conversion_actions", { p_public_id: siteId, p_actions: named }, kept);
}

export const disconnectGoogleAds = (db: SessionClient, siteId: SiteId) =>
  callAsUser(db, "disconnect_provider", { p_public_id: siteId }, done);

export const previewSwitch = (db: SessionClient, siteId: SiteId, to: "script" | "api") =>
  callAsUser(db, "preview_delivery_switch", { p_public_id: siteId, p_to: to }, switchPreview);

export const switchDelivery = (db: SessionClient, siteId: SiteId, to: "script" | "api") =>
  callAsUser(db, "switch_delivery", { p_public_id: siteId, p_to: to }, switchAnswer);
