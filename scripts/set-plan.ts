/**
 * `npm run plan:set -- <public id> --name … --limit … --enforcement … --currency …` gives a site its plan, through set_site_plan.
 * It connects as the owner of the database: the app's login may not. Exits 2 when it is asked wrongly, 1 when the database refuses.
 */
import { parseArgs } from "node:util";
import { z } from "zod";
import { callAsOwner, stop, whichDatabase } from "./call-as-owner.ts";

const usage = `npm run plan:set -- <public id> --name <name> --limit <events a month> --enforcement <soft|hard> --currency <ISO 4217>
  --limit            whole number, or "none" for a soft plan without a limit
  --enforcement      soft: more is counted and billed as overage; hard: more is refused with 429
  --cap              with soft: the multiple of the limit at which a month is full after all, for example 2
  --base-cents       price of a month, in hundredths of the currency (0)
  --overage-cents    price of each 1,000 events over the limit, in hundredths (0)
The public id is the 32 characters on the site's settings page. The share that an owner keeps for leads stays as it is.
${whichDatabase}`;

const cents = (option: string) =>
  z.coerce.number(`${option} is not a number`).int(`${option} is not whole`).min(0, `${option} is negative`);
const plan = z
  .object({
    site: z.string("the public id is missing").regex(/^[0-9a-f]{32}$/, "the public id has 32 characters, 0-9 and a-f"),
    name: z.string("--name is missing").trim().min(1, "--name is empty").max(40, "--name has more than 40 characters"),
    limit: z.union(
      [z.literal("none").transform(() => null), z.coerce.number().int().positive()],
      "--limit is missing, or neither a whole number above 0 nor none",
    ),
    enforcement: z.enum(["soft", "hard"], "--enforcement is missing, or neither soft nor hard"),
    currency: z.string("--currency is missing").regex(/^[A-Z]{3}$/, "--currency has three capital letters, for example TRY"),
    cap: z.coerce.number("--cap is not a number").min(1, "--cap is below 1").max(9999, "--cap is above 9999").optional(),
    "base-cents": cents("--base-cents").default(0),
    "overage-cents": cents("--overage-cents").default(0),
  })
  .refine(({ limit, enforcement }) => limit !== null || enforcement === "soft", "a hard plan needs a --limit")
  .refine(({ limit, cap }) => cap === undefined || limit !== null, "--cap needs a --limit");

function askedPlan(): z.output<typeof plan> {
  const text = { type: "string" } as const;
  const options = { name: text, limit: text, enforcement: text, currency: text, cap: text, "base-cents": text, "overage-cents": text };
  try {
    const { values, positionals } = parseArgs({ options: { ...options, help: { type: "boolean", short: "h" } }, allowPositionals: true });
    if (values.help) {
      console.log(usage);
      process.exit(0);
    }
    if (positionals.length > 1) throw new Error(`what is ${positionals[1]}? Put a name with spaces into quotes`);
    const asked = plan.safeParse({ ...values, site: positionals[0] });
    if (asked.success) return asked.data;
    throw new Error(asked.error.issues.map(({ message }) => message).join("\n"));
  } catch (error) {
    stop(`${error instanceof Error ? error.message : error}\n\n${usage}`, 2);
  }
}

const asked = askedPlan();
await callAsOwner(
  (sql) => sql`select public.set_site_plan(p_public_id => ${asked.site}, p_name => ${asked.name}, p_monthly_limit => ${asked.limit},
    p_enforcement => ${asked.enforcement}, p_currency => ${asked.currency}, p_hard_cap_multiplier => ${asked.cap ?? null},
    p_base_price_cents => ${asked["base-cents"]}, p_overage_cents_per_1000 => ${asked["overage-cents"]})`,
  { NOT_FOUND: `This database has no site ${asked.site}.` },
);
console.log(`ok     ${asked.site} has the plan ${asked.name}: ${asked.limit ?? "no limit of"} events a month, ${asked.enforcement}`);
