import { useTranslations } from "next-intl";
import { Tag } from "#components/ui/badge.tsx";
import { Card, CardFoot } from "#components/ui/card.tsx";
import { Count } from "#components/ui/count.tsx";
import { ListRow } from "#components/ui/list-row.tsx";
import { SubmitButton } from "#components/ui/submit-button.tsx";
import { TimeAgo } from "#components/ui/time.tsx";
import { signOutElsewhere } from "#lib/auth/actions.ts";
import { defaultTimeZone } from "#lib/i18n/locale.ts";
import type { MySession } from "#lib/tenancy/my-account.ts";

/** Where the account is signed in, and how to end it everywhere but here. */
export function SessionList({ sessions }: { sessions: MySession[] }) {
  const t = useTranslations("account");
  return (
    <Card title={t("sessions")} end={<Count>{sessions.length}</Count>}>
      {sessions.map(({ startedAt, usedAt, isThis }) => (
        <ListRow key={`${startedAt} ${usedAt}`} className="justify-between">
          <span className="min-w-0">
            <span className="block first-letter:uppercase">
              {t.rich("sessionStarted", { time: () => <TimeAgo value={startedAt} timeZone={defaultTimeZone} /> })}
            </span>
            <span className="block text-xs text-meta">
              {t.rich("sessionUsed", { time: () => <TimeAgo value={usedAt} timeZone={defaultTimeZone} /> })}
            </span>
          </span>
          {isThis && <Tag>{t("sessionThis")}</Tag>}
        </ListRow>
      ))}
      <CardFoot>
        {sessions.length > 1 && (
          <form action={signOutElsewhere}>
            <SubmitButton>{t("signOutElsewhere")}</SubmitButton>
          </form>
        )}
        <span className="min-w-56 flex-1 text-sm text-pretty text-meta">{t("sessionsNote")}</span>
      </CardFoot>
    </Card>
  );
}
