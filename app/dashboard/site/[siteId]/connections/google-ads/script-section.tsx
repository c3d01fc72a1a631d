import { ApiKeyCard } from "#components/connections/api-key-card.tsx";
import { InstallScript } from "#components/google-ads/install-script.tsx";
import { ScriptDiagnosis } from "#components/google-ads/script-diagnosis.tsx";
import { ScriptRuns } from "#components/google-ads/script-runs.tsx";
import { env } from "#lib/env.ts";
import { currentScriptVersion, customerScript } from "#lib/oci/customer-script.ts";
import { diagnose } from "#lib/oci/script-diagnosis.ts";
import { listApiKeys, readScriptStatus } from "#lib/tenancy/readers.ts";
import type { SiteSummary } from "#lib/tenancy/site-fields.ts";

export async function ScriptStatusAlert({ siteId }: { siteId: string }) {
  const status = await readScriptStatus(siteId);
  return <ScriptDiagnosis diagnosis={diagnose(status, currentScriptVersion())} waiting={status.waiting} />;
}

/** Everything about the script, on a site that sends by it. */
export async function ScriptSection({ site: { publicId, timezone, archivedAt } }: { site: SiteSummary }) {
  const [keys, status] = await Promise.all([listApiKeys(publicId), readScriptStatus(publicId)]);
  const version = currentScriptVersion();
  return (
    <>
      <InstallScript script={customerScript({ publicId, appUrl: env().APP_URL })} version={version} />
      <ScriptRuns runs={status.runs} timeZone={timezone} />
      <ApiKeyCard siteId={publicId} keys={keys} timeZone={timezone} editable={archivedAt === null} hasScript />
    </>
  );
}
