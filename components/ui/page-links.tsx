import { useTranslations } from "next-intl";
import { ButtonLink } from "./button.tsx";

interface PageLinksProps {
  /** The list's address with its filters, without a page. */
  path: string;
  filter: Record<string, string | undefined>;
  next: string | null;
}

/** The address of a filtered list. */
export function filteredPath(path: string, filter: Record<string, string | undefined>): string {
  const query = new URLSearchParams(Object.entries(filter).filter((entry): entry is [string, string] => entry[1] !== undefined));
  return query.size > 0 ? `${path}?${query}` : path;
}

/** Forward page by page, and back to the first. */
export function PageLinks({ path, filter: { cursor, ...filter }, next }: PageLinksProps) {
  const t = useTranslations("filters");
  if (!cursor && !next) return null;
  return (
    <nav className="flex min-w-0 items-center justify-between gap-2" aria-label={t("pages")}>
      {cursor ? <ButtonLink href={filteredPath(path, filter)}>{t("first")}</ButtonLink> : <span />}
      {next && <ButtonLink href={filteredPath(path, { ...filter, cursor: next })}>{t("next")}</ButtonLink>}
    </nav>
  );
}
