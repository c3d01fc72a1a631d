"use client";

import { useTranslations } from "next-intl";
import { useControl, useControlFormat } from "#components/dashboard/oci-control/context/control-context.tsx";
import { asLine, useCause } from "#components/delivery/use-cause.ts";
import type { QueueRowStory } from "#lib/oci/control-shapes.ts";
import { timelineOf } from "./timeline.ts";

/** Everything that happened, oldest first, each with its hand. */
export function TimelineSection({ story }: { story: QueueRowStory }) {
  const t = useTranslations("oci.timeline");
  const format = useControlFormat();
  const { site } = useControl();
  const causeOf = useCause(site.ociSyncMethod);
  const person = ({ kind, name }: QueueRowStory["transitions"][number]["by"]) => name ?? t(`by.${kind}`);
  return (
    <section>
      <h3 className="h2">{t("title")}</h3>
      <ol className="tl">
        {timelineOf(story).map((event) => {
          const Icon = event.icon;
          const small = [
            event.money !== undefined && format.money(event.money, story.row.currency),
            event.code && asLine(causeOf(event.code).what),
            event.lengthMs !== undefined && t("after", { length: format.length(event.lengthMs / 1000) }),
            event.note && `“${event.note}”`,
          ].filter(Boolean);
          return (
            <li key={event.key}>
              <span className={`n ${event.tone}`}>
                <Icon className="i" />
              </span>
              <span className="tx">
                {t(`events.${event.word}`, { by: person(event.by), attempt: event.attempt })}
                {small.length > 0 && <small>{small.join(" · ")}</small>}
              </span>
              <time dateTime={event.at} title={format.dateTime(event.at)}>
                {format.moment(event.at)}
              </time>
            </li>
          );
        })}
      </ol>
    </section>
  );
}
