import Link from "next/link";
import type { ReactNode } from "react";
import { BrandMark, brandName } from "#components/ui/brand.tsx";
import { LanguageChoice } from "./preference-choice.tsx";

/** A page anyone may read: status, privacy, and those that say something went wrong. */
export function PublicPage({ children }: { children: ReactNode }) {
  return (
    <main className="public">
      <div className="row">
        <Link className="brand px-0" href="/">
          <BrandMark />
          {brandName}
        </Link>
        <span className="grow" />
        <LanguageChoice />
      </div>
      {children}
    </main>
  );
}
