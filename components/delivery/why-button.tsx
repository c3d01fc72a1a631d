"use client";

import { CircleHelp, CloudOff } from "lucide-react";
import { useTranslations } from "next-intl";
import { useState } from "react";
import { useBackCloses } from "#components/history/use-back-closes.ts";
import { Button } from "#components/ui/button.tsx";
import { Dialog, DialogClose, DialogFoot } from "#components/ui/dialog.tsx";
import { EmptyState } from "#components/ui/empty-state.tsx";
import { latePart } from "#components/ui/late-part.tsx";
import { Skeleton } from "#components/ui/skeleton.tsx";
import type { WhyNotCounted } from "#lib/oci/queue/why-not-counted.ts";
import type { SiteId } from "#lib/site.ts";

const Answer = latePart(() => import("./why-answer.tsx").then(({ WhyAnswer }) => WhyAnswer));

interface WhyButtonProps {
  siteId: SiteId;
  saleId: string;
  timeZone: string;
  /** Google confirmed it: the question is then another one. */
  isCounted: boolean;
  look: "link" | "small" | "icon";
  /** The row that is open beside it: the answer does not link to it. */
  openRowId?: string;
}

async function fetchWhy(siteId: SiteId, saleId: string): Promise<WhyNotCounted | null> {
  const response = await fetch(`/api/sites/${siteId}/sales/${saleId}/why-not-counted`, { cache: "no-store" }).catch(() => null);
  return response?.ok ? await response.json().catch(() => null) : null; // our own route, checked where it was read
}

/** "Why was it not counted?": the first broken link from the click to Google's verdict, and what to do about it. */
export function WhyButton({ siteId, saleId, timeZone, isCounted, look, openRowId }: WhyButtonProps) {
  const t = useTranslations("why");
  const word = useTranslations();
  const [open, setOpen] = useState(false);
  const [answer, setAnswer] = useState<WhyNotCounted | "loading" | "failed">("loading");
  useBackCloses(open, () => setOpen(false));
  const question = t(isCounted ? "askCounted" : "ask");
  const read = async () => {
    setAnswer("loading");
    setAnswer((await fetchWhy(siteId, saleId)) ?? "failed");
  };
  const change = (next: boolean) => {
    setOpen(next);
    if (next) void read();
  };
  return (
    <Dialog open={open} onOpenChange={change} title={question} trigger={<Trigger look={look} question={question} />}>
      {answer === "loading" && (
        <div className="grid gap-3" role="status">
          <span className="sr-only">{t("loading")}</span>
          <Skeleton width="90%" height={20} />
          <Skeleton width="60%" height={20} />
          <Skeleton width="100%" height={150} />
        </div>
      )}
      {answer === "failed" && (
        <EmptyState icon={CloudOff} title={t("failed")} action={<Button onClick={read}>{word("actions.tryAgain")}</Button>}>
          {t("failedBody")}
        </EmptyState>
      )}
      {typeof answer === "object" && (
        <Answer.Part isWanted answer={answer} siteId={siteId} timeZone={timeZone} openRowId={openRowId} onLeave={() => setOpen(false)} />
      )}
      <DialogFoot>
        <DialogClose render={<Button />}>{word("actions.close")}</DialogClose>
      </DialogFoot>
    </Dialog>
  );
}

function Trigger({ look, question, ...props }: Pick<WhyButtonProps, "look"> & { question: string }) {
  if (look === "link")
    return (
      <button type="button" className="link" {...props}>
        {question}
      </button>
    );
  if (look === "icon")
    return (
      <Button tone="ghost" size="sm" icon aria-label={question} title={question} {...props}>
        <CircleHelp />
      </Button>
    );
  return (
    <Button size="sm" {...props}>
      <CircleHelp className="size-3.5" />
      {question}
    </Button>
  );
}
