"use client";

import { useTranslations } from "next-intl";
import { useSend } from "#components/forms/use-send.ts";
import { Card, CardFoot } from "#components/ui/card.tsx";
import { SubmitButton } from "#components/ui/submit-button.tsx";
import { Cell, Table } from "#components/ui/table.tsx";
import { DateText } from "#components/ui/time.tsx";
import type { FailedEvent } from "#lib/ingest/failed-events.ts";
import type { SiteId } from "#lib/site.ts";

/** Events that were counted but could not be stored: each with its reason, and a way to try them again. */
export function FailedEvents({ siteId, events, timeZone }: { siteId: SiteId; events: FailedEvent[]; timeZone: string }) {
  const t = useTranslations("failedEvents");
  const word = useTranslations();
  const { send, pending } = useSend();
  const replay = () =>
    send({
      method: "POST",
      url: `/api/sites/${siteId}/failed-events/replay`,
      body: { ids: events.map((event) => event.id) },
      done: (value) => t("replayed", { count: Number(value.replayed) }),
    });
  const columns = [
    { key: "reason", header: word("labels.reason") },
    { key: "received", header: t("received"), width: "160px" },
    { key: "attempts", header: word("labels.tries"), width: "80px", align: "end" as const },
  ];
  return (
    <Card title={t("title")}>
      <p className="p-4 text-sm text-pretty text-support">{t("lead")}</p>
      <Table label={t("title")} columns={columns}>
        {events.map((event) => (
          <tr key={event.id}>
            <Cell at="main" roomy>
              {event.reason}
            </Cell>
            <Cell at="wide">
              <DateText value={event.receivedAt} timeZone={timeZone} />
            </Cell>
            <Cell at="end" align="end">
              {event.attempts}
            </Cell>
          </tr>
        ))}
      </Table>
      <CardFoot>
        <SubmitButton type="button" pending={pending} onClick={replay}>
          {t("replay", { count: events.length })}
        </SubmitButton>
      </CardFoot>
    </Card>
  );
}
