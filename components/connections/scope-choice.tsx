"use client";

import { useTranslations } from "next-intl";
import { useId } from "react";
import { Checkbox } from "#components/ui/checkbox.tsx";
import { type KeyScope, keyScopes } from "#lib/tenancy/site-roles.ts";

interface ScopeChoiceProps {
  offered: readonly KeyScope[];
  chosen: readonly KeyScope[];
  onChoose: (scopes: KeyScope[]) => void;
  error?: string | undefined;
}

/** What a key may be used for: a tick for each, with what it lets a program do. */
export function ScopeChoice({ offered, chosen, onChoose, error }: ScopeChoiceProps) {
  const t = useTranslations("apiKeys");
  const id = useId();
  const toggle = (scope: KeyScope) => onChoose(keyScopes.filter((each) => chosen.includes(each) !== (each === scope)));
  return (
    <fieldset className="grid gap-3" aria-describedby={error && `${id}-error`}>
      <legend className="text-sm font-medium mb-2">{t("scopesLabel")}</legend>
      {offered.map((scope) => (
        <div key={scope}>
          <Checkbox checked={chosen.includes(scope)} onChange={() => toggle(scope)} aria-describedby={`${id}-${scope}`}>
            {t(`scopes.${scope}.name`)}
            <span className="text-xs text-meta id" data-untranslated>
              {scope}
            </span>
          </Checkbox>
          <p id={`${id}-${scope}`} className="text-xs text-meta pl-6 text-pretty">
            {t(`scopes.${scope}.does`)}
          </p>
        </div>
      ))}
      {error && (
        <p id={`${id}-error`} className="text-sm text-failed" role="alert">
          {error}
        </p>
      )}
    </fieldset>
  );
}
