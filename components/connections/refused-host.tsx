"use client";

import { useTranslations } from "next-intl";
import { useSend } from "#components/forms/use-send.ts";
import { Alert } from "#components/ui/alert.tsx";
import { SubmitButton } from "#components/ui/submit-button.tsx";
import type { SiteId } from "#lib/site.ts";
import type { SiteSetup } from "#lib/tenancy/site-setup.ts";

interface RefusedHostProps {
  siteId: SiteId;
  refused: NonNullable<SiteSetup["refusedHost"]>;
  editable: boolean;
}

/** A page sent events from a host that is not on the list: which, and one press to add it. */
export function RefusedHost({ siteId, refused: { host, isSubdomain }, editable }: RefusedHostProps) {
  const t = useTranslations("tracker");
  const { send, pending } = useSend();
  const add = () => send({ method: "POST", url: `/api/sites/${siteId}/domains`, body: { domain: host }, done: t("hostAdded", { host }) });
  return (
    <Alert
      tone="retry"
      title={t("hostRefused", { host })}
      action={
        editable && (
          <SubmitButton type="button" size="sm" pending={pending} onClick={add} aria-label={t("addHostNamed", { host })}>
            {t("addHost")}
          </SubmitButton>
        )
      }
    >
      {t(isSubdomain ? "hostSubdomain" : "hostOther")}
    </Alert>
  );
}
