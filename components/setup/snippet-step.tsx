"use client";

import { ExternalLink } from "lucide-react";
import { useTranslations } from "next-intl";
import { RefusedHost } from "#components/connections/refused-host.tsx";
import { ButtonLink } from "#components/ui/button.tsx";
import { snippetPlaces, snippetsOfSite } from "#lib/ingest/install-snippet.ts";
import type { SiteSummary } from "#lib/tenancy/site-fields.ts";
import type { SiteSetup } from "#lib/tenancy/site-setup.ts";
import { CodeBlock } from "./code-block.tsx";
import { Pick } from "./pick.tsx";

export interface SnippetsProps {
  site: SiteSummary;
  appUrl: string;
  reportsViews: boolean;
}

interface SnippetStepProps extends SnippetsProps {
  refusedHost: SiteSetup["refusedHost"];
  editable: boolean;
}

/** The snippet for how the website is made, and the site to open for a test. */
export function SnippetStep({ refusedHost, editable, ...of }: SnippetStepProps) {
  const t = useTranslations("setup.snippet");
  const { siteId, domains } = of.site;
  return (
    <>
      {refusedHost && <RefusedHost siteId={siteId} refused={refusedHost} editable={editable} />}
      <Snippets {...of} />
      <OpenSite domains={domains} label={t("test")} />
    </>
  );
}

/** The snippet as the site's settings ask for it, for each way to make a website. */
export function Snippets({ site, appUrl, reportsViews }: SnippetsProps) {
  const t = useTranslations("setup.snippet");
  const snippets = snippetsOfSite(appUrl, site, reportsViews);
  return (
    <Pick label={t("madeWith")} options={snippetPlaces.map((key) => ({ key, label: t(`places.${key}`) }))}>
      {(place) => (
        <>
          <p className="text-sm text-support text-pretty">{t(`how.${place}`)}</p>
          <CodeBlock value={snippets[place]} label={t("paste")} />
        </>
      )}
    </Pick>
  );
}

/** The website in a new tab; with a query it is opened as an ad click would. */
export function OpenSite({ domains, query = "", label }: { domains: string[]; query?: string; label: string }) {
  const domain = domains[0] ?? "";
  const address = `${domain === "localhost" ? "http" : "https"}://${domain}/${query}`;
  return (
    <div className="flex flex-wrap items-center gap-3">
      <ButtonLink href={address} target="_blank" rel="noreferrer">
        <ExternalLink />
        {label}
      </ButtonLink>
      <span className="id min-w-0 text-sm text-meta wrap-anywhere" data-untranslated>
        {address}
      </span>
    </div>
  );
}
