"use client";

import { useTranslations } from "next-intl";
import { useSend } from "#components/forms/use-send.ts";
import { SubmitButton } from "#components/ui/submit-button.tsx";

/** Opens an archived site again. */
export function RestoreSite({ publicId, name }: { publicId: string; name: string }) {
  const t = useTranslations("archive");
  const { send, pending } = useSend();
  const restore = () => send({ method: "DELETE", url: `/api/sites/${publicId}/archive`, done: t("restored", { site: name }) });
  return (
    <SubmitButton type="button" pending={pending} onClick={restore}>
      {t("restore")}
    </SubmitButton>
  );
}
