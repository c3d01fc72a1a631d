import { useTranslations } from "next-intl";
import { sitePath } from "#components/shell/nav-items.ts";
import { ButtonLink } from "#components/ui/button.tsx";
import { Card, CardBody } from "#components/ui/card.tsx";
import type { ConnectionStatus } from "#lib/delivery/connection-status.ts";
import type { Diagnosis } from "#lib/oci/script/status.ts";
import type { SiteId } from "#lib/site.ts";
import { ScriptDiagnosis } from "./script-diagnosis.tsx";
import { StatusAlert } from "./status-alert.tsx";

interface GoogleAdsLinkProps {
  siteId: SiteId;
  timeZone: string;
  /** How the site sends, and how that is doing. */
  delivery: { way: "script"; diagnosis: Diagnosis; waiting: number } | { way: "api"; status: ConnectionStatus };
}

/** Google Ads on the page of all connections: how delivery is doing, and the way to more. */
export function GoogleAdsLink({ siteId, timeZone, delivery }: GoogleAdsLinkProps) {
  const t = useTranslations();
  return (
    <Card
      title={t("googleAds.title")}
      note={t(`states.${delivery.way}`)}
      end={
        <ButtonLink href={sitePath(siteId, "/connections/google-ads")} size="sm">
          {t("actions.open")}
        </ButtonLink>
      }
    >
      <CardBody>
        {delivery.way === "script" ? (
          <ScriptDiagnosis diagnosis={delivery.diagnosis} waiting={delivery.waiting} />
        ) : (
          <StatusAlert siteId={siteId} status={delivery.status} timeZone={timeZone} mayFix />
        )}
      </CardBody>
    </Card>
  );
}
