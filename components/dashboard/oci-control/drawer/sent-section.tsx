"use client";

import { useTranslations } from "next-intl";
import { useControl } from "#components/dashboard/oci-control/control-context.tsx";
import { CopyButton } from "#components/ui/copy-button.tsx";
import { DrawerSection } from "#components/workbench/drawer.tsx";
import type { QueueRowStory } from "#lib/oci/queue/row-story.ts";
import { adsApiTime, dataManagerTime, scriptTime } from "#lib/providers/conversion-time.ts";

/** Each of Google's APIs writes the same second in its own way. */
function timeAs(transport: string, at: Date, timeZone: string): string {
  if (transport === "data_manager") return dataManagerTime(at);
  return transport === "ads_api" ? adsApiTime(at, timeZone) : scriptTime(at, timeZone);
}

type Field = [name: string, value: string];

const adjustmentFields = (kind: QueueRowStory["row"]["kind"]): Field[] =>
  kind === "CONVERSION" ? [] : [["adjustmentType", kind === "RETRACT" ? "RETRACTION" : "RESTATEMENT"]];

const moneyFields = ({ valueCents, currency }: QueueRowStory["payload"]): Field[] => [
  ["conversionValue", (valueCents / 100).toFixed(2)],
  ["conversionCurrency", currency],
];

/** What was sent to Google, or would be sent now, field by field. The names are Google's and are not translated. */
export function SentSection({ story: { row, payload, dispatches } }: { story: QueueRowStory }) {
  const t = useTranslations("oci.sent");
  const { site } = useControl();
  const transport = dispatches.at(-1)?.transport ?? (site.ociSyncMethod === "script" ? "script" : "data_manager");
  const fields: Field[] = [
    ["orderId", payload.orderId],
    ["conversionName", payload.conversionName ?? t("noName")],
    ["conversionTime", timeAs(transport, new Date(payload.conversionTime), site.timezone)],
    ...adjustmentFields(row.kind),
    // A retraction has no value: 0 would be a conversion worth nothing.
    ...(row.kind === "RETRACT" ? [] : moneyFields(payload)),
    [payload.clickKind ?? "gclid", payload.clickId ?? t(payload.clickForgotten ? "clickForgotten" : "noClick")],
  ];
  const text = fields.map(([name, value]) => `${name}: ${value}`).join("\n");
  return (
    <DrawerSection title={t(payload.sent ? "sent" : "wouldSend")} end={<CopyButton value={text} tone="ghost" size="sm" />}>
      <dl className="id grid grid-cols-[minmax(96px,138px)_minmax(0,1fr)] gap-x-2.5 gap-y-1 rounded-md bg-surface-2 px-3 py-2 text-xs leading-4.5">
        {fields.map(([name, value]) => (
          <div key={name} className="contents">
            <dt className="text-meta">{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {payload.clickId && <p className="mt-2 text-xs text-meta">{t("masked")}</p>}
    </DrawerSection>
  );
}
