import { Ban, CircleCheck, CircleX, Clock, Hand, type LucideIcon, Pencil, RotateCw, Send, Stamp, Undo2 } from "lucide-react";
import type { TimelineTone } from "#components/ui/timeline.tsx";
import { ledgerWords } from "#lib/contracts/states.ts";
import { notSentCodes } from "#lib/oci/queue/row-state.ts";
import type { QueueRowStory } from "#lib/oci/queue/row-story.ts";

type Move = QueueRowStory["transitions"][number];
export interface TimelineEvent {
  key: string;
  at: string;
  /** A key of oci.timeline.events. */
  word: Word;
  icon: LucideIcon;
  tone: TimelineTone;
  by: Move["by"];
  attempt: number;
  money?: number;
  code?: string;
  lengthMs?: number;
  note?: string;
}

const words = {
  undone: [Undo2, "act"],
  try: [Send, "plain"],
  byHand: [Hand, "ok"],
  handedOver: [CircleCheck, "ok"],
  deferred: [Clock, "retry"],
  recovered: [RotateCw, "retry"],
  retryPlanned: [RotateCw, "retry"],
  gaveUp: [CircleX, "bad"],
  markedFailed: [CircleX, "bad"],
  failed: [CircleX, "bad"],
  notSent: [Ban, "plain"],
  notSentCancelled: [Ban, "plain"],
  queued: [Clock, "plain"],
  requeued: [RotateCw, "act"],
} as const satisfies Record<string, readonly [LucideIcon, TimelineTone]>;
type Word =
  | keyof typeof words
  | (typeof ledgerWords)[keyof typeof ledgerWords]
  | `verdicts.${NonNullable<QueueRowStory["dispatches"][number]["verdict"]>}`;

/** A move of the row in one word, by where it led and who made it. */
function wordOf({ to, from, reason, by, errorCode }: Move): keyof typeof words {
  if (reason === "UNDO") return "undone";
  if (to === "PROCESSING") return "try";
  if (to === "COMPLETED") return reason === "DONE_BY_HAND" ? "byHand" : "handedOver";
  if (to === "RETRY") return reason === "DEFERRED" ? "deferred" : reason === "RECOVERED" ? "recovered" : "retryPlanned";
  if (to === "FAILED" && notSentCodes.some((code) => code === errorCode))
    return errorCode === "SALE_CANCELLED" && by.kind === "user" ? "notSentCancelled" : "notSent";
  if (to === "FAILED") return reason === "ATTEMPT_CAP" ? "gaveUp" : by.kind === "user" ? "markedFailed" : "failed";
  return from === null ? "queued" : "requeued";
}

/** The ledger's lines, the row's moves and Google's verdicts as one story, oldest first. */
export function timelineOf({ ledger, transitions, attempts, dispatches }: QueueRowStory): TimelineEvent[] {
  const system = { kind: "system", name: null } as const;
  const lines: TimelineEvent[] = ledger.map(({ id, kind, amountCents, by, at }) => ({
    key: id,
    at,
    word: ledgerWords[kind],
    icon: kind === "SEAL" || kind === "RESTORE" ? Stamp : Pencil,
    tone: "act",
    by,
    attempt: 0,
    money: amountCents,
  }));
  // A verdict moves nothing; it comes from the dispatches below.
  const moved = transitions.filter(({ from, to }) => !(from === "COMPLETED" && to === "COMPLETED"));
  const moves = moved.map((move, index): TimelineEvent => {
    const ended = attempts.find((attempt) => attempt.endedAt === move.at);
    const word = wordOf(move);
    const [icon, tone] = words[word];
    return {
      word,
      icon,
      tone,
      key: `move-${index}`,
      at: move.at,
      by: move.by,
      attempt: move.attemptCount,
      ...(move.errorCode && move.to !== "COMPLETED" && move.to !== "PROCESSING" && word !== "notSentCancelled" && { code: move.errorCode }),
      ...(ended?.durationMs != null && { lengthMs: ended.durationMs }),
      ...(move.note && { note: move.note }),
    };
  });
  const verdicts: TimelineEvent[] = dispatches.flatMap(({ id, verdict, verdictAt, verdictReason }) =>
    verdict && verdictAt
      ? [
          {
            key: id,
            at: verdictAt,
            word: `verdicts.${verdict}` as const,
            icon: verdict === "REJECTED" ? CircleX : CircleCheck,
            tone: verdict === "REJECTED" ? ("bad" as const) : ("ok" as const),
            by: system,
            attempt: 0,
            ...(verdictReason && { code: verdictReason }),
          },
        ]
      : [],
  );
  // Sorting keeps the order of equal moments: a seal comes before the row it queues.
  return [...lines, ...moves, ...verdicts].sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
}
