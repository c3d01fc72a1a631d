"use client";

import { useTranslations } from "next-intl";
import { useSend } from "#components/forms/use-send.ts";
import { SubmitButton } from "#components/ui/submit-button.tsx";
import type { SiteId } from "#lib/site.ts";

/** Opens an archived site again. */
export function RestoreSite({ siteId, name }: { siteId: SiteId; name: string }) {
  const t = useTranslations("archive");
  const { send, pending } = useSend();
  const restore = () => send({ method: "DELETE", url: `/api/sites/${siteId}/archive`, done: t("restored", { site: name }) });
  return (
    <SubmitButton type="button" pending={pending} onClick={restore}>
      {t("restore")}
    </SubmitButton>
  );
}
