"use client";

import { useTranslations } from "next-intl";
import { useState } from "react";
import { useSend } from "#components/forms/use-send.ts";
import { Tag } from "#components/ui/badge.tsx";
import { Button } from "#components/ui/button.tsx";
import { Card } from "#components/ui/card.tsx";
import { ConfirmDialog } from "#components/ui/confirm-dialog.tsx";
import { Count } from "#components/ui/count.tsx";
import { ListRow } from "#components/ui/list-row.tsx";
import { SubmitButton } from "#components/ui/submit-button.tsx";
import { DateText } from "#components/ui/time.tsx";
import type { SiteId } from "#lib/site.ts";
import type { Invitation } from "#lib/tenancy/readers.ts";

interface OpenInvitationsProps {
  siteId: SiteId;
  invitations: Invitation[];
  timeZone: string;
}

/** People who were asked and have not answered. */
export function OpenInvitations({ siteId, invitations, timeZone }: OpenInvitationsProps) {
  const t = useTranslations("members");
  return (
    <Card title={t("openInvitations")} end={<Count>{invitations.length}</Count>}>
      {invitations.map((invitation) => (
        <InvitationRow key={invitation.id} siteId={siteId} invitation={invitation} timeZone={timeZone} />
      ))}
    </Card>
  );
}

function InvitationRow({ siteId, invitation, timeZone }: { siteId: SiteId; invitation: Invitation; timeZone: string }) {
  const t = useTranslations("members");
  const word = useTranslations();
  const roles = useTranslations("roles");
  const resend = useSend();
  const withdraw = useSend();
  const [asking, setAsking] = useState(false);
  const { id, email, role, expiresAt } = invitation;
  // Inviting the same address again renews the invitation and mails it once more.
  const sendAgain = () =>
    resend.send({
      method: "POST",
      url: `/api/sites/${siteId}/members`,
      body: { email, role },
      done: ({ mailed }) => (mailed === false ? t("invitedNotMailed", { email }) : t("sentAgain", { email })),
    });
  const takeBack = () =>
    withdraw.send({
      method: "DELETE",
      url: `/api/sites/${siteId}/invitations/${id}`,
      done: t("withdrawn", { email }),
    });
  return (
    <ListRow>
      <div className="min-w-0 flex-1 max-desk:basis-3/5">
        <p className="font-medium wrap-anywhere">{email}</p>
        <p className="text-xs text-meta">{t.rich("validUntil", { date: () => <DateText value={expiresAt} timeZone={timeZone} /> })}</p>
      </div>
      <Tag>{roles(role)}</Tag>
      <div className="flex min-w-0 items-center gap-2">
        <SubmitButton type="button" size="sm" pending={resend.pending} onClick={sendAgain}>
          {word("actions.sendAgain")}
        </SubmitButton>
        <ConfirmDialog
          open={asking}
          onOpenChange={setAsking}
          title={t("withdrawQuestion", { email })}
          description={t("withdrawConsequence")}
          confirm={t("withdrawConfirm")}
          cancel={word("actions.cancel")}
          pending={withdraw.pending}
          onConfirm={takeBack}
          trigger={
            <Button tone="ghost" size="sm">
              {t("withdraw")}
            </Button>
          }
        />
      </div>
    </ListRow>
  );
}
