import Link from "next/link";
import { useTranslations } from "next-intl";
import type { ReactNode } from "react";
import { LanguageChoice } from "#components/shell/preference-choice.tsx";
import { ThemeToggle } from "#components/shell/theme-toggle.tsx";
import { BrandMark, brandName } from "#components/ui/brand.tsx";
import { ProofPanel } from "./proof-panel.tsx";

/** The frame of the pages before the dashboard: a form at the left, what the product proves at the right. */
export function AuthPage({ title, lead, children }: { title: string; lead: ReactNode; children: ReactNode }) {
  const t = useTranslations("auth");
  return (
    <div className="auth">
      <main className="auth-form">
        <div className="row">
          <span className="brand">
            <BrandMark />
            {brandName}
          </span>
          <span className="grow" />
          <LanguageChoice />
        </div>
        <div className="auth-box">
          <div>
            <h1 className="auth-t">{title}</h1>
            <p className="t2 mt-1">{lead}</p>
          </div>
          {children}
        </div>
        <div className="auth-foot">
          <Link href="/privacy">{t("privacy")}</Link>
          <Link href="/status">{t("status")}</Link>
          <span className="grow" />
          <ThemeToggle words />
        </div>
      </main>
      <ProofPanel />
    </div>
  );
}
