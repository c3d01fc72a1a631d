import { useTranslations } from "next-intl";
import { Field } from "#components/ui/field.tsx";
import { Input } from "#components/ui/input.tsx";
import type { SiteDelivery } from "#lib/tenancy/site-delivery.ts";

/** When an earlier stage is sent, how many a day, and what waits now. */
export function SignalRules({ delivery, error }: { delivery: SiteDelivery; error: string | undefined }) {
  const t = useTranslations("delivery");
  const { signalsEnabled, signalsDailyMax, signalsNow } = delivery;
  return (
    <div className="grid gap-3 pl-6">
      <p className="text-xs text-meta text-pretty">
        {t("signalsHint", { max: signalsDailyMax })} {signalsEnabled && t("signalsNow", signalsNow)}
      </p>
      <Field label={t("signalsDailyMax")} hint={t("signalsDailyMaxHint")} error={error}>
        {(control) => (
          <Input {...control} name="signalsDailyMax" defaultValue={signalsDailyMax} inputMode="numeric" autoComplete="off" maxLength={6} />
        )}
      </Field>
    </div>
  );
}
