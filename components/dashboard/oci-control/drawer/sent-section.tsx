"use client";

import { useTranslations } from "next-intl";
import { useControl } from "#components/dashboard/oci-control/context/control-context.tsx";
import { CopyButton } from "#components/ui/copy-button.tsx";
import type { QueueRowStory } from "#lib/oci/queue/row-story.ts";
import { adsApiTime, dataManagerTime, scriptTime } from "#lib/providers/conversion-time.ts";

/** Each of Google's doors writes the same second in its own way. */
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

/** What Google was told, or would be told now, field by field. The names are Google's, so they stay as they are. */
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
    <section>
      <div className="row mb-2.5">
        <h3 className="h2 grow" style={{ marginBottom: 0 }}>
          {t(payload.sent ? "sent" : "wouldSend")}
        </h3>
        <CopyButton value={text} tone="ghost" size="sm" />
      </div>
      <dl className="kv id">
        {fields.map(([name, value]) => (
          <div key={name} className="contents">
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {payload.clickId && <p className="xs t3 mt-2">{t("masked")}</p>}
    </section>
  );
}
