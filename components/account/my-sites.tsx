import Link from "next/link";
import { useTranslations } from "next-intl";
import { RemoveMember } from "#components/members/remove-member.tsx";
import { sitePath } from "#components/shell/nav-items.ts";
import { Card } from "#components/ui/card.tsx";
import { ListRow } from "#components/ui/list-row.tsx";
import type { MySite } from "#lib/tenancy/my-account.ts";

/** The sites a person belongs to, each with the way out: leave it, or what has to be done first. */
export function MySites({ sites, user }: { sites: MySite[]; user: { id: string; name: string } }) {
  const t = useTranslations("account");
  const word = useTranslations();
  if (sites.length === 0) return null;
  return (
    <Card title={word("nav.sites")} note={t("sitesNote")}>
      {sites.map(({ siteId, name, role, archived, onlyOwner }) => (
        <ListRow key={siteId} className="justify-between">
          <span className="min-w-0 flex-1">
            <Link className="font-medium link wrap-anywhere" href={sitePath(siteId)} data-untranslated>
              {name}
            </Link>
            <span className="block text-xs text-meta">
              {word(`roles.${role}`)}
              {archived && ` · ${word("sites.archived")}`}
            </span>
            {onlyOwner && (
              <span className="block text-sm text-pretty text-support">
                {t.rich("onlyOwner", {
                  team: (words) => (
                    <Link className="link" href={sitePath(siteId, "/members")}>
                      {words}
                    </Link>
                  ),
                  settings: (words) => (
                    <Link className="link" href={sitePath(siteId, "/settings")}>
                      {words}
                    </Link>
                  ),
                })}
              </span>
            )}
          </span>
          {!onlyOwner && <RemoveMember siteId={siteId} member={{ userId: user.id, name: user.name, isYou: true }} />}
        </ListRow>
      ))}
    </Card>
  );
}
