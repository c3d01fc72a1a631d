"use client";

import { useTranslations } from "next-intl";
import { useSend } from "#components/forms/use-send.ts";
import { SubmitButton } from "#components/ui/submit-button.tsx";
import type { SiteId } from "#lib/site.ts";

/** Ends a pause now. */
export function ResumeSending({ siteId }: { siteId: SiteId }) {
  const t = useTranslations("pause");
  const { send, pending } = useSend();
  const resume = () => send({ method: "DELETE", url: `/api/sites/${siteId}/pause`, done: t("resumed") });
  return (
    <SubmitButton type="button" pending={pending} onClick={resume}>
      {t("resume")}
    </SubmitButton>
  );
}
