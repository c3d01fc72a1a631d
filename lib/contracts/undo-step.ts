import { z } from "zod";

/**
 * What an undo of a lead or of a sale takes back, and until when by the server's clock. `intent`: the lead was opened again; `discard`: a draft was
 * thrown away.
 */
export const undoStep = z.object({
  proofId: z.string(),
  kind: z.enum(["seal", "correct", "cancel", "discard", "junk", "qualified", "meeting", "intent"]),
  until: z.string(),
  byYou: z.boolean(),
  amountCents: z.number().nullable(),
  /** What the sale was worth before a correction. */
  beforeCents: z.number().nullable(),
  currency: z.string().nullable(),
});
export type UndoStep = z.output<typeof undoStep>;
