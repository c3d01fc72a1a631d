"use client";

import { useTranslations } from "next-intl";
import { Avatar } from "#components/ui/avatar.tsx";
import { Cell, Table } from "#components/ui/table.tsx";
import { DateText } from "#components/ui/time.tsx";
import type { SiteId } from "#lib/site.ts";
import type { Member } from "#lib/tenancy/readers.ts";
import { MemberRole } from "./member-role.tsx";
import { RemoveMember } from "./remove-member.tsx";

interface MemberTableProps {
  siteId: SiteId;
  members: Member[];
  timeZone: string;
  /** An archived site shows its team but changes nothing. */
  editable: boolean;
}

/** The team. A site keeps at least one owner, so the last one's controls are off and say why. */
export function MemberTable({ siteId, members, timeZone, editable }: MemberTableProps) {
  const t = useTranslations();
  const roles = useTranslations("roles");
  const ownerCount = members.filter((member) => member.role === "owner").length;
  const columns = [
    { key: "person", header: t("members.person") },
    { key: "role", header: t("members.role"), width: "296px" },
    { key: "joined", header: t("members.joined"), width: "128px", priority: 2 as const },
    { key: "actions", header: t("labels.actions"), hidden: true, width: "120px", align: "end" as const },
  ];
  return (
    <Table label={t("nav.members")} columns={columns}>
      {members.map((member) => {
        const lastOwner = member.role === "owner" && ownerCount === 1;
        return (
          <tr key={member.userId}>
            <Cell at="main" roomy>
              <div className="flex min-w-0 items-center gap-3">
                <Avatar name={member.name} round />
                <div className="min-w-0 flex-1">
                  <p className="font-semibold wrap-anywhere">
                    {member.name}
                    {member.isYou && <span className="text-meta font-normal"> {t("members.you")}</span>}
                  </p>
                  <p className="text-xs text-meta wrap-anywhere">{member.email}</p>
                </div>
              </div>
            </Cell>
            <Cell at="wide" roomy>
              {editable ? <MemberRole siteId={siteId} member={member} lastOwner={lastOwner} /> : roles(member.role)}
            </Cell>
            <Cell at="desk" priority={2}>
              <DateText value={member.joinedAt} timeZone={timeZone} />
            </Cell>
            <Cell at="end" align="end">
              {editable && !lastOwner && <RemoveMember siteId={siteId} member={member} />}
            </Cell>
          </tr>
        );
      })}
    </Table>
  );
}
