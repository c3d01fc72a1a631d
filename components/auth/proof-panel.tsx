import { CheckCheck, type LucideIcon, MousePointerClick, Phone, Send, Stamp } from "lucide-react";
import { useLocale, useTranslations } from "next-intl";
import { Badge } from "#components/ui/badge.tsx";
import { siteFormat } from "#lib/i18n/site-format.ts";

const exampleCents = 675_000;

/** An example lead, so that a person who signs in for the first time sees what they will get. */
const steps = [
  { key: "click", icon: MousePointerClick, look: "act", at: "09:04" },
  { key: "call", icon: Phone, look: "", at: "09:11" },
  { key: "seal", icon: Stamp, look: "act", at: "11:40" },
  { key: "sent", icon: Send, look: "", at: "15:04" },
  { key: "confirmed", icon: CheckCheck, look: "ok", at: "15:37" },
] as const satisfies { key: string; icon: LucideIcon; look: string; at: string }[];

export function ProofPanel() {
  const t = useTranslations("proof");
  const amount = siteFormat({ locale: useLocale(), timeZone: "Europe/Istanbul", currency: "TRY" }).money(exampleCents);
  return (
    <aside className="auth-side" aria-label={t("label")}>
      <div className="proof">
        <p className="proof-t">{t("title")}</p>
        <p className="t2 mb-7 max-w-[44ch]">{t("lead")}</p>
        <div className="card p-5">
          <div className="row mb-4.5">
            <div className="grow">
              <div className="fig-xl">{amount}</div>
              <div className="sm t2">{t("example")}</div>
            </div>
            <Badge state="CONFIRMED" />
          </div>
          <ol className="tl">
            {steps.map(({ key, icon: Icon, look, at }) => (
              <li key={key}>
                <span className={`n ${look}`}>
                  <Icon className="i" />
                </span>
                <span className="tx">
                  {t(`steps.${key}`)}
                  <small>{key === "seal" ? amount : t(`facts.${key}`)}</small>
                </span>
                <time>{at}</time>
              </li>
            ))}
          </ol>
        </div>
      </div>
    </aside>
  );
}
