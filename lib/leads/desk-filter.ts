import { z } from "zod";
import { leadChannels } from "#lib/channels.ts";
import { views } from "./desk-shapes.ts";

const day = z.string().regex(/^\d{4}-\d{2}-\d{2}$/);

/** The desk's filter, from the address. What cannot be read is ignored, so that an old link still opens. */
export const deskFilter = z.object({
  view: z.enum(views).optional().catch(undefined),
  channel: z.enum(leadChannels).optional().catch(undefined),
  score: z.coerce.number().int().min(1).max(100).optional().catch(undefined),
  click: z.enum(["yes", "no"]).optional().catch(undefined),
  from: day.optional().catch(undefined),
  to: day.optional().catch(undefined),
  /** The day on which somebody decided, not the day on which the lead came. */
  decided: day.optional().catch(undefined),
  phone: z
    .string()
    .transform((text) => text.replace(/\D/g, "").slice(-7))
    .pipe(z.string().min(2))
    .optional()
    .catch(undefined),
  campaign: z.string().min(1).max(200).optional().catch(undefined),
});
export type DeskFilter = z.output<typeof deskFilter>;

/** The same for the reader in SQL. */
export function filterForReader({
  view,
  channel,
  score,
  click,
  from,
  to,
  decided,
  phone,
  campaign,
}: DeskFilter): Record<string, string | number | boolean> {
  const wanted = {
    view,
    channel,
    scoreMin: score,
    hasClick: click && click === "yes",
    from,
    to,
    decidedOn: decided,
    phoneEnding: phone,
    campaign,
  };
  return Object.fromEntries(Object.entries(wanted).filter((entry): entry is [string, string | number | boolean] => entry[1] !== undefined));
}
