import { randomUUID } from "node:crypto";
import { type IngestJob, ingestEvents } from "./data-manager/ingest-events.ts";
import { newAccessToken } from "./google/access-token.ts";
import { googleScopes } from "./google/hosts.ts";
import { readAccount } from "./google-ads/search-ads.ts";
import { uploadRows } from "./google-ads/upload-rows.ts";
import type { ConnectionCheck, ConnectionTest, ConversionJob, ProviderBlock, ProviderConnection, Upload } from "./port.ts";
import { isProviderError } from "./provider-error.ts";

/** A conversion that nobody made, for dry runs: nothing of it is stored, and Google may well refuse the row itself. */
function sampleJob(connection: ProviderConnection): IngestJob {
  const { conversion_action_resource_name: conversionAction } = connection.credentials;
  return {
    id: "connection_test",
    kind: "CONVERSION",
    via: "data_manager",
    orderId: `connection_test_${randomUUID()}`,
    conversionAction,
    conversionTime: new Date(Date.now() - 86_400_000).toISOString(),
    timezone: "UTC",
    valueCents: 100,
    currency: "USD",
    gclid: "Cj0KCQ_connection_test",
    gbraid: null,
    wbraid: null,
    phoneHash: null,
    emailHash: null,
    channel: "phone",
    consent: null,
    mayHaveArrived: false,
  };
}

type Finding = (ProviderBlock & { isOfAction?: boolean }) | undefined;

/** What is wrong; a call without an answer is a finding too. */
async function find(look: () => Promise<Finding>): Promise<Finding> {
  try {
    return await look();
  } catch (error) {
    if (isProviderError(error)) return { code: error.code, message: error.message };
    throw error;
  }
}

/** Google may refuse the sample. Only a refusal of the account, the action or the method is a finding. */
function accessFinding({ results: [result] }: Upload): Finding {
  if (!result || (result.category !== "AUTH" && !result.blocksAction && !result.byHand)) return undefined;
  return { code: result.code ?? "UNKNOWN", message: result.message ?? "", ...(result.blocksAction && { isOfAction: true }) };
}

function toCheck(name: ConnectionCheck["name"], isRequired: boolean, finding: Finding): ConnectionCheck {
  return { name, isRequired, ok: !finding, ...finding };
}

/**
 * Tries everything delivery needs, with dry runs only: the credentials, both scopes, Data Manager with the conversion action, and the Ads API,
 * without which corrections of script uploads and retractions are work for a person.
 */
export async function testConnection(connection: ProviderConnection, signal?: AbortSignal): Promise<ConnectionTest> {
  const access = await newAccessToken(connection).catch((error) => {
    if (isProviderError(error)) return { ok: false as const, code: error.code, message: error.message };
    throw error;
  });
  if (!access.ok) return summary([toCheck("oauth", true, { code: access.code, message: access.message })]);
  const isAdsApi = connection.credentials.transport === "ads_api";
  const scope = (name: string): Finding =>
    access.scopes.length === 0 || access.scopes.includes(name)
      ? undefined
      : { code: "ACCESS_TOKEN_SCOPE_INSUFFICIENT", message: `The credentials lack the scope ${name}` };
  const checks = [
    toCheck("oauth", true, undefined),
    toCheck("data_manager_scope", !isAdsApi, scope(googleScopes.dataManager)),
    toCheck("ads_api_scope", isAdsApi, scope(googleScopes.ads)),
  ];
  const { adsChecks, account } = await testAdsApi(connection, signal);
  return summary([...checks, await testDataManager(connection, signal), ...adsChecks], account);
}

async function testDataManager(connection: ProviderConnection, signal?: AbortSignal): Promise<ConnectionCheck> {
  const look = async () => accessFinding(await ingestEvents([sampleJob(connection)], connection, { validateOnly: true, signal }));
  return toCheck("data_manager", connection.credentials.transport === "data_manager", await find(look));
}

async function testAdsApi(connection: ProviderConnection, signal?: AbortSignal) {
  const isAdsApi = connection.credentials.transport === "ads_api";
  let account: ConnectionTest["account"];
  const dryRun = async (kind: ConversionJob["kind"]) =>
    find(async () => {
      const job: ConversionJob = { ...sampleJob(connection), kind, via: "ads_api" };
      return accessFinding(await uploadRows([job], connection, { validateOnly: true, signal }));
    });
  const search = await find(async () => {
    const read = await readAccount(connection, signal);
    account = read.account;
    return read.refused;
  });
  const adsChecks = [
    toCheck("ads_api", isAdsApi, search),
    ...(isAdsApi ? [toCheck("ads_api_upload", true, await dryRun("CONVERSION"))] : []),
    toCheck("ads_api_adjustments", false, await dryRun("RETRACT")),
  ];
  return { adsChecks, account };
}

function summary(checks: ConnectionCheck[], account?: ConnectionTest["account"]): ConnectionTest {
  const failed = checks.find(({ ok, isRequired }) => isRequired && !ok);
  return {
    ok: !failed,
    checks,
    ...(account && { account }),
    ...(failed && { error: { code: failed.code ?? "UNKNOWN", message: failed.message ?? "" } }),
  };
}
