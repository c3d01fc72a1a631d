/**
 * `npm run billing:credit -- <public id> --day YYYY-MM-DD --units N --reason "…"` credits units of a disputed day, through credit_billed_day.
 * It connects as the owner of the database: the app's login may not. Exits 2 when it is asked wrongly, 1 when the database refuses.
 */
import { parseArgs } from "node:util";
import { z } from "zod";
import { callAsOwner, stop, whichDatabase } from "./call-as-owner.ts";

const usage = `npm run billing:credit -- <public id> --day <YYYY-MM-DD> --units <number> --reason "<text>"
  --day              a day in UTC that is over
  --units            how many of its counted events are credited, altogether never more than it counted
  --reason           what the customer reads on the billing page and the invoice, at most 200 characters
The credit is a line in the next invoice. Asked for again with the same day, units and reason, it is the same credit.
${whichDatabase}`;

const credit = z.object({
  site: z.string("the public id is missing").regex(/^[0-9a-f]{32}$/, "the public id has 32 characters, 0-9 and a-f"),
  day: z.iso.date("--day is missing, or not a day such as 2026-10-05"),
  units: z
    .string("--units is missing")
    .regex(/^[1-9]\d{0,14}$/, "--units is not a whole number above 0")
    .transform(Number),
  reason: z.string("--reason is missing").trim().min(1, "--reason is empty").max(200, "--reason has more than 200 characters"),
});

function askedCredit(): z.output<typeof credit> {
  const text = { type: "string" } as const;
  try {
    const { values, positionals } = parseArgs({
      options: { day: text, units: text, reason: text, help: { type: "boolean", short: "h" } },
      allowPositionals: true,
    });
    if (values.help) {
      console.log(usage);
      process.exit(0);
    }
    if (positionals.length > 1) throw new Error(`what is ${positionals[1]}? Put a reason with spaces into quotes`);
    const asked = credit.safeParse({ ...values, site: positionals[0] });
    if (asked.success) return asked.data;
    throw new Error(asked.error.issues.map(({ message }) => message).join("\n"));
  } catch (error) {
    stop(`${error instanceof Error ? error.message : error}\n\n${usage}`, 2);
  }
}

const answer = z.object({ proofId: z.string(), isNew: z.boolean(), events: z.number(), credited: z.number() });

const { site, day, units, reason } = askedCredit();
const given = answer.parse(
  await callAsOwner((sql) => sql`select public.credit_billed_day(${site}, ${day}::date, ${units}::bigint, ${reason})`, {
    NOT_FOUND: `This database has no site ${site}.`,
    VALIDATION_FAILED: `${day} is not over yet in UTC, or the reason has characters that cannot be shown.`,
    CREDIT_TOO_LARGE: `${day} would be credited more units than it counted. Nothing was changed.`,
  }),
);
console.log(`ok     ${given.isNew ? "credited" : "was credited before"}: ${units} units of ${day}, a line in the next invoice`);
console.log(`       the day counted ${given.events} units, ${given.credited} of them are credited; proof ${given.proofId}`);
