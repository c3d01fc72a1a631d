"use client";

import { useTranslations } from "next-intl";
import { useId, useState } from "react";
import { useSend } from "#components/forms/use-send.ts";
import { ConfirmDialog } from "#components/ui/confirm-dialog.tsx";
import { Select } from "#components/ui/select.tsx";
import type { SiteId } from "#lib/site.ts";
import type { Member } from "#lib/tenancy/readers.ts";
import { type SiteRole, siteRoles } from "#lib/tenancy/site-roles.ts";

/** Changes a role at once. Giving up one's own ownership is asked about first: it cannot be taken back alone. */
export function MemberRole({ siteId, member, lastOwner }: { siteId: SiteId; member: Member; lastOwner: boolean }) {
  const t = useTranslations("members");
  const roles = useTranslations("roles");
  const whyId = useId();
  const { send, pending } = useSend();
  const [asked, setAsked] = useState<SiteRole | null>(null);
  const [wanted, setWanted] = useState(member.role);
  const change = (role: SiteRole) => {
    setWanted(role);
    return send({
      method: "PATCH",
      url: `/api/sites/${siteId}/members/${member.userId}`,
      body: { role },
      done: t("roleChanged", { name: member.name, role: roles(role) }),
      onDone: () => setAsked(null),
    });
  };
  const choose = (value: string) => {
    const role = siteRoles.find((each) => each === value);
    if (!role || role === member.role) return;
    if (member.isYou) setAsked(role);
    else void change(role);
  };
  return (
    <>
      <Select
        small
        className="desk:max-w-46"
        aria-label={t("roleOf", { name: member.name })}
        aria-describedby={lastOwner ? whyId : undefined}
        value={pending ? wanted : member.role}
        disabled={lastOwner || pending}
        onChange={(event) => choose(event.target.value)}
      >
        {siteRoles.map((role) => (
          <option key={role} value={role}>
            {roles(role)}
          </option>
        ))}
      </Select>
      {lastOwner && (
        <p id={whyId} className="text-xs text-meta mt-1 text-pretty">
          {t("lastOwner")}
        </p>
      )}
      <ConfirmDialog
        open={asked !== null}
        onOpenChange={(open) => !open && setAsked(null)}
        title={t("stepDown", { role: roles(asked ?? member.role) })}
        description={t("stepDownConsequence")}
        confirm={t("stepDownConfirm", { role: roles(asked ?? member.role) })}
        cancel={t("keepRole")}
        pending={pending}
        onConfirm={() => asked && change(asked)}
      />
    </>
  );
}
