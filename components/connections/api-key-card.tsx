"use client";

import { KeyRound } from "lucide-react";
import { useTranslations } from "next-intl";
import { useState } from "react";
import { Card, CardFoot } from "#components/ui/card.tsx";
import { Checkbox } from "#components/ui/checkbox.tsx";
import { EmptyState } from "#components/ui/empty-state.tsx";
import type { SiteId } from "#lib/site.ts";
import type { ApiKey } from "#lib/tenancy/readers.ts";
import { ApiKeyTable } from "./api-key-table.tsx";
import { CreateKeyDialog } from "./create-key-dialog.tsx";

interface ApiKeyCardProps {
  siteId: SiteId;
  keys: ApiKey[];
  timeZone: string;
  editable: boolean;
  /** A script of this site needs one. */
  hasScript: boolean;
}

/** Keys that let a script or a server speak for this site. Revoked ones stay on record, out of sight. */
export function ApiKeyCard({ siteId, keys, timeZone, editable, hasScript }: ApiKeyCardProps) {
  const t = useTranslations("apiKeys");
  const [showRevoked, setShowRevoked] = useState(false);
  const revokedCount = keys.filter((key) => key.revokedAt).length;
  const shown = showRevoked ? keys : keys.filter((key) => !key.revokedAt);
  return (
    <Card title={t("title")} end={editable && <CreateKeyDialog siteId={siteId} />}>
      {shown.length > 0 ? (
        <ApiKeyTable siteId={siteId} keys={shown} timeZone={timeZone} editable={editable} />
      ) : (
        <EmptyState icon={KeyRound} title={t("none")}>
          {t(hasScript ? "noneNext" : "noneNextApi")}
        </EmptyState>
      )}
      {revokedCount > 0 && (
        <CardFoot>
          <Checkbox checked={showRevoked} onChange={(event) => setShowRevoked(event.target.checked)}>
            {t("showRevoked", { count: revokedCount })}
          </Checkbox>
        </CardFoot>
      )}
    </Card>
  );
}
