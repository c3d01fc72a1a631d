import type { ReactNode } from "react";
import { Brand } from "#components/ui/brand.tsx";
import { publicPage } from "#components/ui/page.tsx";
import { LanguageChoice } from "./preference-choice.tsx";

/** A page anyone may read: status, privacy, and those that say something went wrong. */
export function PublicPage({ children }: { children: ReactNode }) {
  return (
    <main className={publicPage}>
      <div className="flex min-w-0 items-center justify-between gap-2">
        <Brand href="/" />
        <LanguageChoice />
      </div>
      {children}
    </main>
  );
}
