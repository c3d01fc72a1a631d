import { CheckCheck, type LucideIcon, MousePointerClick, Phone, Send, Stamp } from "lucide-react";
import { useLocale, useTranslations } from "next-intl";
import { Badge } from "#components/ui/badge.tsx";
import { Card } from "#components/ui/card.tsx";
import { Timeline, TimelineStep, type TimelineTone } from "#components/ui/timeline.tsx";
import { siteFormat } from "#lib/i18n/site-format.ts";

const exampleCents = 675_000;

/** An example lead, so that a person who signs in for the first time sees what they will get. */
const steps = [
  { key: "click", icon: MousePointerClick, tone: "act", at: "09:04" },
  { key: "call", icon: Phone, tone: "plain", at: "09:11" },
  { key: "seal", icon: Stamp, tone: "act", at: "11:40" },
  { key: "sent", icon: Send, tone: "plain", at: "15:04" },
  { key: "confirmed", icon: CheckCheck, tone: "ok", at: "15:37" },
] as const satisfies { key: string; icon: LucideIcon; tone: TimelineTone; at: string }[];

export function ProofPanel() {
  const t = useTranslations("proof");
  const amount = siteFormat({ locale: useLocale(), timeZone: "Europe/Istanbul", currency: "TRY" }).money(exampleCents);
  return (
    <aside className="grid place-items-center border-l border-line-1 p-12 max-desk:hidden desk:max-[1001px]:p-6" aria-label={t("label")}>
      <div className="w-full max-w-100">
        <p className="mb-2 text-[1.375rem] leading-7.5 font-semibold tracking-[-0.02em] text-balance">{t("title")}</p>
        <p className="mb-7 max-w-[44ch] text-support">{t("lead")}</p>
        <Card className="p-5">
          <div className="mb-4.5 flex min-w-0 items-center gap-2">
            <div className="min-w-0 flex-1">
              <div className="text-2xl font-semibold tracking-[-0.028em]">{amount}</div>
              <div className="text-sm text-support">{t("example")}</div>
            </div>
            <Badge state="CONFIRMED" />
          </div>
          <Timeline>
            {steps.map(({ key, icon, tone, at }) => (
              <TimelineStep key={key} tone={tone} icon={icon} note={key === "seal" ? amount : t(`facts.${key}`)} time={<time>{at}</time>}>
                {t(`steps.${key}`)}
              </TimelineStep>
            ))}
          </Timeline>
        </Card>
      </div>
    </aside>
  );
}
