import { ArrowRight } from "lucide-react";
import { useLocale, useTranslations } from "next-intl";
import { type ActivityEntry, ownerKinds } from "#lib/contracts/activity.ts";
import { siteFormat } from "#lib/i18n/site-format.ts";
import { siteRoles } from "#lib/tenancy/site-roles.ts";

const acts: readonly string[] = ownerKinds;

/** Administrative acts have words of their own for what was before and after. */
export const isAct = ({ kind }: ActivityEntry): boolean => acts.includes(kind);

/** Fields whose change the sentence says already. */
const hidden = (field: string, to: string) =>
  ["consent_mode", "archived_at"].includes(field) || (to === "resumed" && field.startsWith("pause"));

/** The stages that have a share of an order, as Settings call them. */
const stages = ["intent", "qualified", "meeting", "sealed"] as const;

type Value = NonNullable<ActivityEntry["changes"]>[string][number];

/** What an administrative act changed: a role, a key's life, or the fields of a form. */
export function ActChange({ entry, timeZone }: { entry: ActivityEntry; timeZone: string }) {
  const t = useTranslations("acts");
  const roles = useTranslations("roles");
  const fieldName = useFieldName();
  const shown = useValueText(timeZone);
  const { contract, from, to, role, changes } = entry;
  const roleOf = (name: string | null) => siteRoles.find((known) => known === name);
  const [before, after] = [roleOf(from), roleOf(to)];
  if (contract === "member" && after) {
    return before ? <FromTo before={roles(before)} after={roles(after)} /> : t("joined", { role: roles(after) });
  }
  const invitedAs = roleOf(role);
  if (contract === "invitation" && to === "invited" && invitedAs) return t("invited", { role: roles(invitedAs) });
  const key = `${contract}.${to}` as Parameters<typeof t>[0]; // has() checks it
  const said = t.has(key) ? t(key) : null;
  const fields = Object.entries(changes ?? {}).filter(([field]) => !(said && hidden(field, to)));
  return (
    <span className="grid gap-0.5 py-1">
      {said}
      {fields.map(([field, [old, now]]) => (
        <span key={field} className="flex min-w-0 flex-wrap items-center gap-x-1.5">
          <span className="text-meta">{fieldName(field)}</span>
          <FromTo before={old === null ? null : shown(field, old)} after={shown(field, now)} />
        </span>
      ))}
    </span>
  );
}

function FromTo({ before, after }: { before: string | null; after: string }) {
  return (
    <span className="inline-flex min-w-0 items-center gap-1.5" data-untranslated>
      {before !== null && (
        <>
          <span className="min-w-0 text-meta wrap-anywhere">{before}</span>
          <ArrowRight className="size-3.5 shrink-0 text-meta" aria-hidden="true" />
        </>
      )}
      <span className="min-w-0 wrap-anywhere">{after}</span>
    </span>
  );
}

/** A stored value as people read it: amounts in units, switches as words, moments in the site's zone. */
function useValueText(timeZone: string): (field: string, value: Value) => string {
  const t = useTranslations("acts");
  const locale = useLocale();
  const units = new Intl.NumberFormat(locale, { minimumFractionDigits: 2 });
  return (field, value) => {
    if (value === null) return t("nothing");
    if (field === "enforcement" && (value === "soft" || value === "hard")) return t(`enforcement.${value}`);
    if (typeof value === "boolean") return t(value ? "on" : "off");
    if (typeof value === "string" && field.endsWith("_until")) return siteFormat({ locale, timeZone }).dateTime(value);
    if (typeof value === "number" && field.includes("_cents")) return units.format(value / 100);
    const part = (each: unknown) => (field === "amount_presets" && typeof each === "number" ? units.format(each / 100) : String(each));
    return Array.isArray(value) ? value.map(part).join(", ") : String(value);
  };
}

/** The name of a setting as its form calls it; a column that no form knows keeps its own name. */
function useFieldName(): (field: string) => string {
  const word = useTranslations();
  const forms: Record<string, string> = {
    name: word("labels.name"),
    domains: word("siteForm.domains"),
    currency: word("labels.currency"),
    timezone: word("labels.timezone"),
    locale: word("preferences.language"),
    consent_mode: word("tracker.consent"),
    send_delay_minutes: word("delivery.sendDelay"),
    click_min_age_hours: word("delivery.clickAge"),
    pause_reason: word("labels.reason"),
    needs_you_after_hours: word("delivery.needsYou"),
    amount_presets: word("setup.values.presets"),
  };
  return (field) => {
    const [column = field, part] = field.split(".");
    if (forms[column]) return forms[column];
    const key = (column === "conversion_names" ? `delivery.nameKeys.${part}` : `acts.fields.${column}`) as Parameters<typeof word>[0];
    const name = word.has(key) ? word(key) : column;
    const stage = stages.find((known) => known === part);
    return column === "intent_weights" && stage ? `${name}: ${word(`states.${stage}`)}` : name;
  };
}
