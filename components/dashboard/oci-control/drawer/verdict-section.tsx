"use client";

import { useTranslations } from "next-intl";
import { useControl } from "#components/dashboard/oci-control/control-context.tsx";
import { useSend } from "#components/forms/use-send.ts";
import { Badge, type State } from "#components/ui/badge.tsx";
import { SubmitButton } from "#components/ui/submit-button.tsx";
import { DrawerSection } from "#components/workbench/drawer.tsx";
import { verdictWait } from "#lib/oci/queue/row-state.ts";
import type { QueueRowStory } from "#lib/oci/queue/row-story.ts";
import type { QueueRow } from "#lib/oci/queue/rows.ts";

const looks: Record<NonNullable<QueueRow["verdict"]>, State> = {
  CONFIRMED: "CONFIRMED",
  REJECTED: "FAILED",
  DUPLICATE: "COMPLETED",
  UNKNOWN: "QUEUED",
};

const waits = { first: "firstCheck", again: "nextCheck", due: "checkDue", none: "noneApi" } as const;

type Sent = QueueRowStory["dispatches"][number];

/** What we did and what Google says of it, side by side: the one never replaces the other. */
export function VerdictSection({ story, row }: { story: QueueRowStory; row: QueueRow }) {
  const t = useTranslations("oci.verdict");
  const word = useTranslations();
  const { mayAct, firstPollSeconds, now, format, causeOf } = useControl();
  const sent = story.dispatches.at(-1);
  if (!sent) return null;
  const cause = sent.verdict === "REJECTED" && sent.verdictReason ? causeOf(sent.verdictReason) : null;
  const handedOver = t("handedOver", { time: format.moment(sent.at), way: t(`ways.${wayOf(sent.transport)}`) });
  // No verdict comes this way: nothing stands as pending.
  if (!sent.verdict && (sent.transport === "script" || sent.transport === "by_hand"))
    return (
      <DrawerSection title={t("title")}>
        <p className="text-sm text-support">{`${handedOver}. ${t(sent.transport === "script" ? "noneScript" : "noneByHand")}`}</p>
      </DrawerSection>
    );
  return (
    <DrawerSection title={t("title")}>
      <div className="grid grid-cols-2 divide-x divide-line-1 rounded-md border border-line-1 *:grid *:content-start *:justify-items-start *:gap-1.25 *:px-3 *:py-2.5">
        <div>
          <Badge state="COMPLETED" />
          <span className="text-xs text-support">
            {handedOver}
            {sent.providerRequestId && <span className="id block">{sent.providerRequestId}</span>}
          </span>
        </div>
        {sent.verdict ? (
          <div>
            <Badge state={looks[sent.verdict]}>{word(`states.${sent.verdict}`)}</Badge>
            <span className="text-xs text-support">
              {sent.verdictAt && t("answered", { time: format.moment(sent.verdictAt) })}
              {cause && <span className="block font-medium">{cause.what}</span>}
            </span>
          </div>
        ) : (
          <div>
            <NoVerdict transport={sent.transport} />
            <span className="text-xs text-support">{noVerdictText(sent)}</span>
          </div>
        )}
      </div>
      {mayAct && story.canSendAgain && (
        <div className="mt-2.5 flex min-w-0 items-center gap-2">
          <SendAgain row={row} helps={cause?.helps ?? true} />
          <span className="text-xs text-support">{t(sent.verdict === "UNKNOWN" ? "unknownHint" : "sendAgainHint")}</span>
        </div>
      )}
    </DrawerSection>
  );

  function noVerdictText(without: Sent): string {
    const { transport, nextCheckAt } = without;
    if (transport === "data_manager") {
      const values = { time: format.moment(nextCheckAt ?? without.at), length: format.length(firstPollSeconds) };
      return t(waits[verdictWait(without, { firstPollSeconds, now })], values);
    }
    return t("noneAdsApi");
  }
}

/** Only Data Manager answers later. */
function NoVerdict({ transport }: Pick<Sent, "transport">) {
  const t = useTranslations("oci.verdict");
  return transport === "data_manager" ? <Badge state="QUEUED">{t("none")}</Badge> : <Badge state="COMPLETED">{t("accepted")}</Badge>;
}

const ways = ["script", "data_manager", "ads_api", "by_hand"] as const;
const wayOf = (transport: string) => ways.find((way) => way === transport) ?? "other";

/** Queues again what Google rejected or gave no verdict on, and opens the new row. `helps`: it is recommended, not only allowed. */
function SendAgain({ row, helps }: { row: QueueRow; helps: boolean }) {
  const t = useTranslations();
  const { site, openRow } = useControl();
  const { send, pending } = useSend();
  const queueAgain = () =>
    send({
      method: "POST",
      url: `/api/oci/queue-rows/${row.id}/send-again`,
      body: { siteId: site.siteId },
      done: t("oci.verdict.queuedAgain"),
      onDone: ({ rowId }) => typeof rowId === "string" && openRow(rowId),
    });
  return (
    <SubmitButton type="button" tone={helps ? "primary" : "plain"} pending={pending} onClick={queueAgain}>
      {t("actions.retry")}
    </SubmitButton>
  );
}
