"use client";

import { useTranslations } from "next-intl";
import { CopyButton } from "#components/ui/copy-button.tsx";
import type { QueueRowStory } from "#lib/oci/control-shapes.ts";

/** What Google was told, or would be told now, field by field. The names are Google's, so they stay as they are. */
export function SentSection({ story: { payload } }: { story: QueueRowStory }) {
  const t = useTranslations("oci.sent");
  const fields: [string, string][] = [
    ["orderId", payload.orderId],
    ["conversionName", payload.conversionName ?? t("noName")],
    ["conversionTime", payload.conversionTime],
    ["conversionValue", (payload.valueCents / 100).toFixed(2)],
    ["currency", payload.currency],
    [payload.clickKind ?? "gclid", payload.clickId ?? t("noClick")],
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
      <p className="xs t3 mt-2">{t("masked")}</p>
    </section>
  );
}
