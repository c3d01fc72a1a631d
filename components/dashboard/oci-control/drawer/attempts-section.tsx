"use client";

import { useTranslations } from "next-intl";
import { useControlFormat } from "#components/dashboard/oci-control/context/control-context.tsx";
import { Badge } from "#components/ui/badge.tsx";
import type { QueueRowStory } from "#lib/oci/queue/row-story.ts";

type Attempt = QueueRowStory["attempts"][number];

/** Each time the row was handed out: when, how long, what came back, and the request that Google knows it by. */
export function AttemptsSection({ attempts }: Pick<QueueRowStory, "attempts">) {
  const t = useTranslations("oci.ledger");
  const format = useControlFormat();
  if (attempts.length === 0) return null;
  const length = (ms: number) => (ms < 1000 ? t("ms", { ms }) : format.length(ms / 1000));
  const details = ({ errorCode, batch }: Attempt) =>
    [
      errorCode,
      batch && t("batch", { count: batch.claimed }),
      batch && !batch.isFinished && t("batchOpen"),
      batch?.errorCode && batch.errorCode !== errorCode && t("batchError", { code: batch.errorCode }),
    ]
      .filter(Boolean)
      .join(" · ");
  return (
    <section>
      <h3 className="h2">{t("attempts")}</h3>
      <ul className="lines">
        {attempts.map((attempt) => {
          const { number, startedAt, durationMs, outcome, batch } = attempt;
          // How long Google took; of a script only its answer is known.
          const took = batch ? batch.durationMs : durationMs;
          const small = details(attempt);
          return (
            <li key={`${number}-${startedAt}`} className="flex-wrap">
              <span className="strong">{number}</span>
              <Badge state={outcome ?? "PROCESSING"} />
              <span className="v">
                {format.moment(startedAt)}
                {took !== null && `, ${length(took)}`}
              </span>
              {(small || batch?.requestId) && (
                <span className="xs t3 w-full min-w-0">
                  {small && <span className="block [overflow-wrap:anywhere]">{small}</span>}
                  {batch?.requestId && <span className="id block [overflow-wrap:anywhere]">{t("request", { id: batch.requestId })}</span>}
                </span>
              )}
            </li>
          );
        })}
      </ul>
    </section>
  );
}
