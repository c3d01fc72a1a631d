"use client";

import { useTranslations } from "next-intl";
import { ConsentSwitch } from "#components/connections/consent-switch.tsx";
import { CodeBlock } from "./code-block.tsx";
import { Pick } from "./pick.tsx";
import { Snippets, type SnippetsProps } from "./snippet-step.tsx";

const banners = ["consentMode", "own"] as const;

/** What a banner with Consent Mode says when the visitor has answered. Google's names for the two scopes are what we read. */
const consentUpdate = `gtag("consent", "update", {
  analytics_storage: "granted",
  ad_storage: "granted",
  ad_user_data: "granted",
  ad_personalization: "granted"
});`;

/** What another banner pastes. As it is copied it reports nothing: no answer may stand for visitors who gave none. */
const reportScript = (t: ReturnType<typeof useTranslations<"setup.consent.code">>) => `<script>
  window.om = window.om || function () { (om.q = om.q || []).push(arguments) };
  function reportConsent(analytics, marketing) {
    om("consent", [analytics && "analytics", marketing && "marketing"].filter(Boolean));
  }
  // ${t("call")}
  // reportConsent(true, true);   // ${t("all")}
  // reportConsent(true, false);  // ${t("some")}
  // reportConsent(false, false); // ${t("none")}
</script>`;

/** Whether visitors are asked, the snippet that waits for their answer, and how the banner tells us. */
export function ConsentStep({ site, editable, ...of }: SnippetsProps & { editable: boolean }) {
  const t = useTranslations("setup.consent");
  const code = useTranslations("setup.consent.code");
  return (
    <>
      <ConsentSwitch site={site} disabled={!editable} />
      {site.consentMode === "required" && (
        <>
          <p className="text-sm text-support text-pretty">{t("newSnippet")}</p>
          <Snippets site={site} {...of} />
          <Pick label={t("banner")} options={banners.map((key) => ({ key, label: t(`banners.${key}`) }))}>
            {(banner) => (
              <>
                <p className="text-sm text-support text-pretty">{t(`how.${banner}`)}</p>
                <CodeBlock value={banner === "own" ? reportScript(code) : consentUpdate} label={t(`paste.${banner}`)} />
                <p className="text-sm text-support text-pretty">{t("test")}</p>
              </>
            )}
          </Pick>
        </>
      )}
    </>
  );
}
