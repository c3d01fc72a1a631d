"use client";

import { MailOpen } from "lucide-react";
import { useRouter } from "next/navigation";
import { useTranslations } from "next-intl";
import { useSend } from "#components/forms/use-send.ts";
import { sitePath } from "#components/shell/nav-items.ts";
import { Button } from "#components/ui/button.tsx";
import { Card } from "#components/ui/card.tsx";
import { Count } from "#components/ui/count.tsx";
import { ListRow } from "#components/ui/list-row.tsx";
import { SubmitButton } from "#components/ui/submit-button.tsx";
import { DateText } from "#components/ui/time.tsx";
import { defaultTimeZone } from "#lib/i18n/locale.ts";
import type { SiteId } from "#lib/site.ts";
import type { MyInvitation } from "#lib/tenancy/readers.ts";

/** Sites that asked the reader to join them. */
export function InvitationCard({ invitations }: { invitations: MyInvitation[] }) {
  const t = useTranslations("invitations");
  return (
    <Card title={t("title")} end={<Count>{invitations.length}</Count>}>
      {invitations.map((invitation) => (
        <InvitationRow key={invitation.id} invitation={invitation} />
      ))}
    </Card>
  );
}

function InvitationRow({ invitation: { id, siteName, role, invitedBy, expiresAt } }: { invitation: MyInvitation }) {
  const t = useTranslations("invitations");
  const roles = useTranslations("roles");
  const router = useRouter();
  const accept = useSend();
  const decline = useSend();
  const answer = (path: "accept" | "decline") => ({ method: "POST" as const, url: `/api/invitations/${id}/${path}` });
  const join = () =>
    accept.send({
      ...answer("accept"),
      done: t("accepted", { site: siteName }),
      onDone: ({ siteId }) => typeof siteId === "string" && router.push(sitePath(siteId as SiteId)),
    });
  const date = () => <DateText value={expiresAt} timeZone={defaultTimeZone} />;
  return (
    <ListRow>
      <MailOpen className="text-meta" />
      <div className="min-w-0 flex-1 max-desk:basis-3/5">
        <p className="font-semibold">{t("offer", { site: siteName, role: roles(role) })}</p>
        <p className="text-xs wrap-anywhere text-meta">
          {invitedBy ? t.rich("from", { name: invitedBy, date }) : t.rich("fromOwner", { date })}
        </p>
      </div>
      <div className="flex min-w-0 items-center gap-2">
        <Button disabled={decline.pending} onClick={() => decline.send({ ...answer("decline"), done: t("declined", { site: siteName }) })}>
          {t("decline")}
        </Button>
        <SubmitButton type="button" tone="primary" pending={accept.pending} onClick={join}>
          {t("accept")}
        </SubmitButton>
      </div>
    </ListRow>
  );
}
