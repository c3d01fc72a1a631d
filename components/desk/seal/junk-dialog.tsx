"use client";

import { useBackCloses } from "#components/history/use-back-closes.ts";
import { latePart } from "#components/ui/late-part.tsx";
import type { JunkDialogProps } from "./junk-question.tsx";

const Question = latePart(() => import("./junk-question.tsx").then(({ JunkQuestion }) => JunkQuestion));

/** Asks why a lead is no sale. */
export function JunkDialog(props: JunkDialogProps) {
  useBackCloses(props.open, () => props.onOpenChange(false));
  return <Question.Part isWanted={props.open} {...props} />;
}
