"use client";

import { useRouter } from "next/navigation";
import { useTranslations } from "next-intl";
import { useState } from "react";
import { useSend } from "#components/forms/use-send.ts";
import { Button } from "#components/ui/button.tsx";
import { ConfirmDialog } from "#components/ui/confirm-dialog.tsx";
import type { SiteId } from "#lib/site.ts";
import type { Member } from "#lib/tenancy/readers.ts";

/** Ends a person's access. One who removes themself leaves the site's pages. */
export function RemoveMember({
  siteId,
  member: { userId, name, isYou },
}: {
  siteId: SiteId;
  member: Pick<Member, "userId" | "name" | "isYou">;
}) {
  const t = useTranslations("members");
  const word = useTranslations();
  const router = useRouter();
  const { send, pending } = useSend();
  const [open, setOpen] = useState(false);
  const remove = () =>
    send({
      method: "DELETE",
      url: `/api/sites/${siteId}/members/${userId}`,
      done: isYou ? t("left") : t("removed", { name }),
      onDone: () => (isYou ? router.push("/dashboard") : setOpen(false)),
    });
  return (
    <ConfirmDialog
      open={open}
      onOpenChange={setOpen}
      title={isYou ? t("leaveQuestion") : t("removeQuestion", { name })}
      description={isYou ? t("leaveConsequence") : t("removeConsequence")}
      confirm={isYou ? t("leave") : t("removeConfirm", { name })}
      cancel={word("actions.cancel")}
      pending={pending}
      onConfirm={remove}
      trigger={
        <Button tone="ghost" size="sm" aria-label={isYou ? t("leave") : t("removeConfirm", { name })}>
          {isYou ? t("leave") : t("remove")}
        </Button>
      }
    />
  );
}
