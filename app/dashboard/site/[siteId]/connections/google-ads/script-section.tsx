import { ApiKeyCard } from "#components/connections/api-key-card.tsx";
import { InstallScript } from "#components/google-ads/install-script.tsx";
import { ScriptDiagnosis } from "#components/google-ads/script-diagnosis.tsx";
import { ScriptRuns } from "#components/google-ads/script-runs.tsx";
import { readPage } from "#lib/auth/session.ts";
import { env } from "#lib/env.ts";
import { currentScriptVersion, customerScript } from "#lib/oci/script/customer-script.ts";
import { diagnose, readScriptStatus } from "#lib/oci/script/status.ts";
import type { SiteId } from "#lib/site.ts";
import { readApiKeys } from "#lib/tenancy/readers.ts";
import type { SiteSummary } from "#lib/tenancy/site-fields.ts";

export async function ScriptStatusAlert({ siteId }: { siteId: SiteId }) {
  const status = await readPage(readScriptStatus, siteId);
  return <ScriptDiagnosis diagnosis={diagnose(status, currentScriptVersion())} waiting={status.waiting} />;
}

/** Everything about the script, on a site that sends by it. */
export async function ScriptSection({ site: { siteId, timezone, archivedAt } }: { site: SiteSummary }) {
  const [keys, status] = await Promise.all([readPage(readApiKeys, siteId), readPage(readScriptStatus, siteId)]);
  const version = currentScriptVersion();
  return (
    <>
      <InstallScript script={customerScript({ siteId, appUrl: env().APP_URL })} version={version} />
      <ScriptRuns runs={status.runs} timeZone={timezone} />
      <ApiKeyCard siteId={siteId} keys={keys} timeZone={timezone} editable={archivedAt === null} hasScript />
    </>
  );
}
