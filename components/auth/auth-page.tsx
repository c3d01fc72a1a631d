import Link from "next/link";
import { useTranslations } from "next-intl";
import type { ReactNode } from "react";
import { LanguageChoice } from "#components/shell/preference-choice.tsx";
import { ThemeToggle } from "#components/shell/theme-toggle.tsx";
import { Brand } from "#components/ui/brand.tsx";
import { ProofPanel } from "./proof-panel.tsx";

const footLink = "-mx-1 inline-flex min-h-10 items-center gap-1.5 px-1 hover:text-content max-desk:min-h-11";

/** The frame of the pages before the dashboard: a form at the left, what the product proves at the right. */
export function AuthPage({ title, lead, children }: { title: string; lead: ReactNode; children: ReactNode }) {
  const t = useTranslations();
  return (
    <div className="min-h-dvh desk:grid desk:grid-cols-2">
      <main className="grid grid-rows-[auto_1fr_auto] bg-surface-1 px-12 py-8 max-desk:min-h-dvh max-desk:px-5 max-desk:pt-5 max-desk:pb-4 desk:max-[1001px]:px-8">
        <div className="flex min-w-0 items-center justify-between gap-2">
          <Brand />
          <LanguageChoice />
        </div>
        <div className="m-auto grid w-full max-w-90 gap-5 py-8 max-desk:mt-0 max-desk:max-w-110 max-desk:pt-12">
          <div>
            <h1 className="text-[1.5rem] leading-8 tracking-[-0.022em]">{title}</h1>
            <p className="mt-1 text-support">{lead}</p>
          </div>
          {children}
        </div>
        <div className="flex flex-wrap items-center gap-x-4 text-xs text-meta">
          <Link className={footLink} href="/privacy">
            {t("privacy.title")}
          </Link>
          <Link className={footLink} href="/status">
            {t("status.title")}
          </Link>
          <span className="min-w-0 flex-1" />
          <ThemeToggle words={footLink} />
        </div>
      </main>
      <ProofPanel />
    </div>
  );
}
