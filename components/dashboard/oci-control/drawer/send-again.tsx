"use client";

import { useTranslations } from "next-intl";
import { useControl } from "#components/dashboard/oci-control/context/control-context.tsx";
import { useSend } from "#components/forms/use-send.ts";
import { SubmitButton } from "#components/ui/submit-button.tsx";
import type { QueueRow } from "#lib/oci/queue/rows.ts";

interface SendAgainProps {
  row: QueueRow;
  /** Sending it again can work; otherwise it is allowed and not proposed. */
  helps: boolean;
  onSent: (rowId: string) => void;
}

/** Queues once more what Google rejected or never answered for, and leads to the new row. */
export function SendAgain({ row, helps, onSent }: SendAgainProps) {
  const t = useTranslations("oci.verdict");
  const { site } = useControl();
  const { send, pending } = useSend();
  return (
    <SubmitButton
      type="button"
      tone={helps ? "primary" : "plain"}
      pending={pending}
      onClick={() =>
        send({
          method: "POST",
          url: `/api/oci/queue-rows/${row.id}/send-again`,
          body: { siteId: site.publicId },
          done: t("queuedAgain"),
          onDone: ({ rowId }) => typeof rowId === "string" && onSent(rowId),
        })
      }
    >
      {t("sendAgain")}
    </SubmitButton>
  );
}
