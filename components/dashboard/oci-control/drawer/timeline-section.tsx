"use client";

import { useTranslations } from "next-intl";
import { useControl } from "#components/dashboard/oci-control/control-context.tsx";
import { asLine } from "#components/delivery/use-cause.ts";
import { Timeline, TimelineStep } from "#components/ui/timeline.tsx";
import { DrawerSection } from "#components/workbench/drawer.tsx";
import type { QueueRowStory } from "#lib/oci/queue/row-story.ts";
import { type TimelineEvent, timelineOf } from "./timeline.ts";

/** Everything that happened, oldest first, each with who did it. */
export function TimelineSection({ story }: { story: QueueRowStory }) {
  const t = useTranslations("oci.timeline");
  const { format, causeOf } = useControl();
  const noteOf = ({ money, code, lengthMs, note }: TimelineEvent) =>
    [
      money !== undefined && format.money(money, story.row.currency),
      code && asLine(causeOf(code).what),
      lengthMs !== undefined && t("after", { length: format.length(lengthMs / 1000) }),
      note && `“${note}”`,
    ]
      .filter(Boolean)
      .join(" · ");
  return (
    <DrawerSection title={t("title")}>
      <Timeline>
        {timelineOf(story).map((event) => (
          <TimelineStep
            key={event.key}
            tone={event.tone}
            icon={event.icon}
            note={noteOf(event)}
            time={
              <time dateTime={event.at} title={format.dateTime(event.at)}>
                {format.moment(event.at)}
              </time>
            }
          >
            {t(`events.${event.word}`, { by: event.by.name ?? t(`by.${event.by.kind}`), attempt: event.attempt })}
          </TimelineStep>
        ))}
      </Timeline>
    </DrawerSection>
  );
}
