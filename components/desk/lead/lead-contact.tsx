"use client";

import { MessageCircle, Phone, StickyNote, UserPen } from "lucide-react";
import { useTranslations } from "next-intl";
import { useState } from "react";
import { Button, ButtonAnchor } from "#components/ui/button.tsx";
import { latePart } from "#components/ui/late-part.tsx";
import type { LeadDetail } from "#lib/leads/desk-shapes.ts";
import { useDesk } from "../desk-context.tsx";

// Loaded with the first press: most leads are sealed without them.
const Contact = latePart(() => import("./contact-dialogs.tsx").then(({ ContactDialog }) => ContactDialog));
const Note = latePart(() => import("./contact-dialogs.tsx").then(({ NoteDialog }) => NoteDialog));

/** What an operator does with the person behind a lead: call, write, say who it is, note something down. */
export function LeadContact({ detail }: { detail: LeadDetail }) {
  const t = useTranslations("desk.contact");
  const { canAct } = useDesk();
  const [open, setOpen] = useState<"contact" | "note" | null>(null);
  if (!canAct) return null;
  const { dialNumber } = detail;
  const close = () => setOpen(null);
  return (
    <div className="flex w-full flex-wrap gap-2 max-desk:grid max-desk:grid-cols-2">
      {dialNumber && (
        <>
          <ButtonAnchor size="sm" href={`tel:${dialNumber}`}>
            <Phone className="size-3.5" />
            {t("call")}
          </ButtonAnchor>
          <ButtonAnchor size="sm" href={`https://wa.me/${dialNumber.replace("+", "")}`} target="_blank" rel="noreferrer">
            <MessageCircle className="size-3.5" />
            {t("whatsapp")}
          </ButtonAnchor>
        </>
      )}
      {!detail.isErased && (
        <>
          <Button size="sm" onClick={() => setOpen("contact")}>
            <UserPen className="size-3.5" />
            {t(detail.name || dialNumber ? "edit" : "add")}
          </Button>
          <Button size="sm" onClick={() => setOpen("note")}>
            <StickyNote className="size-3.5" />
            {t("note")}
          </Button>
        </>
      )}
      {open === "contact" && <Contact.Part isWanted detail={detail} onClose={close} />}
      {open === "note" && <Note.Part isWanted detail={detail} onClose={close} />}
    </div>
  );
}
