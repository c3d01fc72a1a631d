"use client";

import { useTranslations } from "next-intl";
import { useControlFormat } from "#components/dashboard/oci-control/context/control-context.tsx";
import { Badge } from "#components/ui/badge.tsx";
import type { QueueRowStory } from "#lib/oci/control-shapes.ts";

type Attempt = QueueRowStory["attempts"][number];

/** Each time the row was handed out: when, how long, what came back, and the request that Google knows it by. */
export function AttemptsSection({ attempts }: Pick<QueueRowStory, "attempts">) {
  const t = useTranslations("oci.ledger");
  const format = useControlFormat();
  if (attempts.length === 0) return null;
  const length = (ms: number) => (ms < 1000 ? t("ms", { ms }) : format.length(ms / 1000));
  const batchWords = ({ batch }: Attempt) => {
    if (!batch) return null;
    const parts = [
      t("batch", { count: batch.claimed }),
      batch.isFinished ? batch.durationMs !== null && t("tookGoogle", { length: length(batch.durationMs) }) : t("batchOpen"),
      batch.errorCode && t("batchError", { code: batch.errorCode }),
    ];
    return parts.filter(Boolean).join(" · ");
  };
  return (
    <section>
      <h3 className="h2">{t("attempts")}</h3>
      <ul className="lines">
        {attempts.map((attempt) => {
          const { number, startedAt, durationMs, outcome, errorCode, batch } = attempt;
          return (
            <li key={`${number}-${startedAt}`} className={batch ? "flex-wrap" : undefined}>
              <span className="strong">{number}</span>
              {outcome ? <Badge state={outcome} /> : <Badge state="PROCESSING" />}
              <span className="id xs t3 clip">{errorCode}</span>
              <span className="v">
                {format.moment(startedAt)}
                {durationMs !== null && `, ${length(durationMs)}`}
              </span>
              {batch && (
                <span className="xs t3 w-full">
                  {batchWords(attempt)}
                  {batch.requestId && <span className="id block clip">{t("request", { id: batch.requestId })}</span>}
                </span>
              )}
            </li>
          );
        })}
      </ul>
    </section>
  );
}
