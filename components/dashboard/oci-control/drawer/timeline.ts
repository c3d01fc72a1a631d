import { CircleCheck, CircleX, Clock, Hand, type LucideIcon, Pencil, RotateCw, Send, Stamp, Undo2 } from "lucide-react";
import type { QueueRowStory } from "#lib/oci/queue/row-story.ts";

type Move = QueueRowStory["transitions"][number];
type Word =
  | "sealed"
  | "corrected"
  | "cancelled"
  | "restored"
  | "queued"
  | "try"
  | "handedOver"
  | "byHand"
  | "retryPlanned"
  | "recovered"
  | "deferred"
  | "failed"
  | "gaveUp"
  | "markedFailed"
  | "requeued"
  | "undone"
  | "verdict";

export interface TimelineEvent {
  key: string;
  at: string;
  word: Word;
  icon: LucideIcon;
  tone: "" | "act" | "ok" | "bad" | "retry";
  by: Move["by"];
  attempt: number;
  money?: number;
  code?: string;
  lengthMs?: number;
  note?: string;
}

const ledgerWords = { SEAL: "sealed", CORRECT: "corrected", CANCEL: "cancelled", RESTORE: "restored" } as const;

/** A move of the row in one word, by where it led and who made it. */
function wordOf({ to, from, reason, by }: Move): Pick<TimelineEvent, "word" | "icon" | "tone"> {
  if (reason === "UNDO") return { word: "undone", icon: Undo2, tone: "act" };
  if (to === "PROCESSING") return { word: "try", icon: Send, tone: "" };
  if (to === "COMPLETED")
    return reason === "DONE_BY_HAND" ? { word: "byHand", icon: Hand, tone: "ok" } : { word: "handedOver", icon: CircleCheck, tone: "ok" };
  if (to === "RETRY") {
    if (reason === "DEFERRED") return { word: "deferred", icon: Clock, tone: "retry" };
    return { word: reason === "RECOVERED" ? "recovered" : "retryPlanned", icon: RotateCw, tone: "retry" };
  }
  if (to === "FAILED") {
    if (reason === "ATTEMPT_CAP") return { word: "gaveUp", icon: CircleX, tone: "bad" };
    return { word: by.kind === "user" ? "markedFailed" : "failed", icon: CircleX, tone: "bad" };
  }
  return from === null ? { word: "queued", icon: Clock, tone: "" } : { word: "requeued", icon: RotateCw, tone: "act" };
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
  // A verdict moves nothing; the dispatches tell of it below.
  const moved = transitions.filter(({ from, to }) => !(from === "COMPLETED" && to === "COMPLETED"));
  const moves = moved.map((move, index): TimelineEvent => {
    const ended = attempts.find((attempt) => attempt.endedAt === move.at);
    return {
      ...wordOf(move),
      key: `move-${index}`,
      at: move.at,
      by: move.by,
      attempt: move.attemptCount,
      ...(move.errorCode && move.to !== "COMPLETED" && move.to !== "PROCESSING" && { code: move.errorCode }),
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
            word: "verdict" as const,
            icon: verdict === "REJECTED" ? CircleX : CircleCheck,
            tone: verdict === "REJECTED" ? ("bad" as const) : ("ok" as const),
            by: system,
            attempt: 0,
            ...(verdictReason && { note: verdictReason }),
          },
        ]
      : [],
  );
  // Sorting keeps the order of equal moments: a seal comes before the row it queues.
  return [...lines, ...moves, ...verdicts].sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
}
