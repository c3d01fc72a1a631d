import type { ReactNode } from "react";
import { Brand } from "#components/ui/brand.tsx";
import { LanguageChoice } from "./preference-choice.tsx";

/** A page anyone may read: status, privacy, and those that say something went wrong. */
export function PublicPage({ children }: { children: ReactNode }) {
  return (
    <main className="mx-auto grid max-w-160 gap-6 px-4 py-8 max-desk:pt-5">
      <div className="flex min-w-0 items-center justify-between gap-2">
        <Brand href="/" />
        <LanguageChoice />
      </div>
      {children}
    </main>
  );
}
