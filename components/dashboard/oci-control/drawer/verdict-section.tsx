"use client";

import { useTranslations } from "next-intl";
import { useControl, useControlFormat } from "#components/dashboard/oci-control/context/control-context.tsx";
import { useCause } from "#components/dashboard/oci-control/context/use-cause.ts";
import { Badge, type State } from "#components/ui/badge.tsx";
import type { QueueRow, QueueRowStory } from "#lib/oci/control-shapes.ts";
import { SendAgain } from "./send-again.tsx";

const looks: Record<NonNullable<QueueRow["verdict"]>, State> = {
  CONFIRMED: "CONFIRMED",
  REJECTED: "FAILED",
  DUPLICATE: "COMPLETED",
  UNKNOWN: "QUEUED",
};

type Sent = QueueRowStory["dispatches"][number];

/** What we did and what Google says of it, side by side: the one never replaces the other. */
export function VerdictSection({ story, row, onSent }: { story: QueueRowStory; row: QueueRow; onSent: (rowId: string) => void }) {
  const t = useTranslations("oci.verdict");
  const format = useControlFormat();
  const { mayAct } = useControl();
  const causeOf = useCause();
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
              <Badge state="QUEUED">{t(sent.transport === "data_manager" ? "none" : "never")}</Badge>
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

  function noVerdictText({ transport, nextCheckAt }: Sent): string {
    if (transport === "data_manager") return nextCheckAt ? t("nextCheck", { time: format.moment(nextCheckAt) }) : t("noneApi");
    return t(transport === "ads_api" ? "noneAdsApi" : transport === "by_hand" ? "noneByHand" : "noneScript");
  }
}

const ways = ["script", "data_manager", "ads_api", "by_hand"] as const;
const wayOf = (transport: string) => ways.find((way) => way === transport) ?? "other";
