"use client";

import { Ban, CircleCheck } from "lucide-react";
import { useTranslations } from "next-intl";
import { Tag } from "#components/ui/badge.tsx";
import { cn } from "#components/ui/cn.ts";
import { Cell, Table } from "#components/ui/table.tsx";
import { DateText, TimeAgo } from "#components/ui/time.tsx";
import type { SiteId } from "#lib/site.ts";
import type { ApiKey } from "#lib/tenancy/readers.ts";
import { NarrowKey } from "./narrow-key.tsx";
import { RevokeKey } from "./revoke-key.tsx";

interface ApiKeyTableProps {
  siteId: SiteId;
  keys: ApiKey[];
  timeZone: string;
  editable: boolean;
}

export function ApiKeyTable({ siteId, keys, timeZone, editable }: ApiKeyTableProps) {
  const t = useTranslations("apiKeys");
  const word = useTranslations();
  const columns = [
    { key: "name", header: word("labels.name") },
    { key: "state", header: word("labels.state"), width: "116px" },
    { key: "scopes", header: t("scopesLabel"), width: "280px" },
    { key: "created", header: t("created"), width: "120px", priority: 2 as const },
    { key: "actions", header: word("labels.actions"), hidden: true, width: "156px", align: "end" as const },
  ];
  return (
    <Table label={t("title")} columns={columns}>
      {keys.map((key) => (
        <tr key={key.id} className={cn(key.revokedAt && "text-meta")}>
          <Cell at="main" roomy>
            <p className="font-semibold wrap-anywhere">{key.name}</p>
            <p className="text-xs text-meta id">{t("prefix", { prefix: key.prefix })}</p>
          </Cell>
          <Cell at="end">{key.revokedAt ? <Tag icon={Ban}>{t("revoked")}</Tag> : <Tag icon={CircleCheck}>{t("active")}</Tag>}</Cell>
          <Cell at="wide" roomy>
            <ul className="grid gap-1">
              {key.scopes.map((scope) => (
                <li key={scope} className="flex min-w-0 items-center gap-2 text-sm">
                  <span className="min-w-0 flex-1">{t(`scopes.${scope}.name`)}</span>
                  <span className="text-xs text-meta">
                    {key.scopeUsed[scope] ? <TimeAgo value={key.scopeUsed[scope]} timeZone={timeZone} /> : t("neverUsed")}
                  </span>
                </li>
              ))}
            </ul>
          </Cell>
          <Cell at="desk" priority={2} className="text-support">
            <DateText value={key.createdAt} timeZone={timeZone} />
          </Cell>
          <Cell at="foot" align="end" className="text-support">
            {key.revokedAt ? (
              <DateText value={key.revokedAt} timeZone={timeZone} />
            ) : (
              editable && (
                <div className="flex justify-end">
                  {key.scopes.length > 1 && <NarrowKey siteId={siteId} apiKey={key} />}
                  <RevokeKey siteId={siteId} keyId={key.id} name={key.name} />
                </div>
              )
            )}
          </Cell>
        </tr>
      ))}
    </Table>
  );
}
