"use client";

import { useTranslations } from "next-intl";
import { useControl, useControlFormat } from "#components/dashboard/oci-control/context/control-context.tsx";
import { useCause } from "#components/delivery/use-cause.ts";
import { Badge, type State, Tag } from "#components/ui/badge.tsx";
import type { QueueRow, QueueRowStory } from "#lib/oci/control-shapes.ts";
import { verdictWait } from "#lib/oci/verdict-wait.ts";
import { SendAgain } from "./send-again.tsx";

const looks: Record<NonNullable<QueueRow["verdict"]>, State> = {
  CONFIRMED: "CONFIRMED",
  REJECTED: "FAILED",
  DUPLICATE: "COMPLETED",
  UNKNOWN: "QUEUED",
};

const waits = { first: "firstCheck", again: "nextCheck", due: "checkDue", none: "noneApi" } as const;

type Sent = QueueRowStory["dispatches"][number];

/** What we did and what Google says of it, side by side: the one never replaces the other. */
export function VerdictSection({ story, row, onSent }: { story: QueueRowStory; row: QueueRow; onSent: (rowId: string) => void }) {
  const t = useTranslations("oci.verdict");
  const format = useControlFormat();
  const { site, mayAct, firstPollSeconds, now } = useControl();
  const causeOf = useCause(site.ociSyncMethod);
  const sent = story.dispatches.at(-1);
  if (!sent) return null;
  const cause = sent.verdict === "REJECTED" && sent.verdictReason ? causeOf(sent.verdictReason) : null;
  return (
    <section>
      <h3 className="h2">{t("title")}</h3>
      <div className="verdict">
        <div>
          <Badge state="COMPLETED" />
          <span className="xs t2">
            {t("handedOver", { time: format.moment(sent.at), way: t(`ways.${wayOf(sent.transport)}`) })}
            {sent.providerRequestId && <span className="id block">{sent.providerRequestId}</span>}
          </span>
        </div>
        <div>
          {sent.verdict ? (
            <>
              <Badge state={looks[sent.verdict]}>{t(`words.${sent.verdict}`)}</Badge>
              <span className="xs t2">
                {sent.verdictAt && t("answered", { time: format.moment(sent.verdictAt) })}
                {cause && <span className="block med">{cause.what}</span>}
                {sent.verdictReason && <span className="id block [overflow-wrap:anywhere]">{sent.verdictReason}</span>}
              </span>
            </>
          ) : (
            <>
              <NoVerdict transport={sent.transport} />
              <span className="xs t2">{noVerdictText(sent)}</span>
            </>
          )}
        </div>
      </div>
      {mayAct && story.canSendAgain && (
        <div className="row mt-2.5">
          <SendAgain row={row} helps={cause?.helps ?? true} onSent={onSent} />
          <span className="xs t2">{t(sent.verdict === "UNKNOWN" ? "unknownHint" : "sendAgainHint")}</span>
        </div>
      )}
    </section>
  );

  function noVerdictText(without: Sent): string {
    const { transport, nextCheckAt } = without;
    if (transport === "data_manager") {
      const values = { time: format.moment(nextCheckAt ?? without.at), length: format.length(firstPollSeconds) };
      return t(waits[verdictWait(without, { firstPollSeconds, now })], values);
    }
    return t(transport === "ads_api" ? "noneAdsApi" : transport === "by_hand" ? "noneByHand" : "noneScript");
  }
}

/** Only Data Manager answers later: nothing else looks as if it were waited for. */
function NoVerdict({ transport }: Pick<Sent, "transport">) {
  const t = useTranslations("oci.verdict");
  if (transport === "data_manager") return <Badge state="QUEUED">{t("none")}</Badge>;
  return transport === "ads_api" ? <Badge state="COMPLETED">{t("accepted")}</Badge> : <Tag>{t("never")}</Tag>;
}

const ways = ["script", "data_manager", "ads_api", "by_hand"] as const;
const wayOf = (transport: string) => ways.find((way) => way === transport) ?? "other";
