"use client";

import { useTranslations } from "next-intl";
import { useControlFormat } from "#components/dashboard/oci-control/context/control-context.tsx";
import { Badge, type State } from "#components/ui/badge.tsx";
import type { QueueRow, QueueRowStory } from "#lib/oci/control-shapes.ts";

const looks: Record<NonNullable<QueueRow["verdict"]>, State> = {
  CONFIRMED: "CONFIRMED",
  REJECTED: "FAILED",
  DUPLICATE: "COMPLETED",
  UNKNOWN: "QUEUED",
};

/** What we did and what Google says of it, side by side: the one never replaces the other. */
export function VerdictSection({ story, row }: { story: QueueRowStory; row: QueueRow }) {
  const t = useTranslations("oci.verdict");
  const format = useControlFormat();
  const sent = story.dispatches.at(-1);
  if (!sent) return null;
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
                {sent.verdictReason && <span className="id block">{sent.verdictReason}</span>}
              </span>
            </>
          ) : (
            <>
              <Badge state="QUEUED">{t("none")}</Badge>
              <span className="xs t2">{t(sent.transport === "script" || row.kind !== "CONVERSION" ? "noneScript" : "noneApi")}</span>
            </>
          )}
        </div>
      </div>
    </section>
  );
}

const ways = ["script", "data_manager", "ads_api", "by_hand"] as const;
const wayOf = (transport: string) => ways.find((way) => way === transport) ?? "other";
