import { z } from "zod";
import { clickKinds, errorCategories, queueKinds, queueStatuses, verdicts } from "#lib/oci/queue-types.ts";

/** What the queue's answers are made of. Times are ISO 8601, money is cents by currency, a site is its public id. */

export const status = z.enum(queueStatuses);
export const category = z.enum(errorCategories);
export const kind = z.enum(queueKinds);
export const verdict = z.enum(verdicts);
export const moment = z.string();
export const clickKind = z.enum(clickKinds);
export const causeCount = z.object({ code: z.string(), category: category.nullable(), count: z.number() });
export const centsByCurrency = z.record(z.string(), z.number());
/** Who did something. */
export const actor = z.object({ kind: z.enum(["user", "api_key", "system"]), name: z.string().nullable() });
/** A yes or no, in an address as text, in a body as JSON. */
export const flag = z.union([z.boolean(), z.enum(["true", "false"]).transform((text) => text === "true")]);
