/** `node scripts/verify-invoice.ts invoice.json events.csv`: counts and hashes an invoice again, offline. Exits 1 when it is not true. */
import { readFileSync } from "node:fs";
import { invoice } from "#lib/billing/billing-shapes.ts";
import { readEventsCsv, verifyInvoice } from "#lib/billing/verify-invoice.ts";

const [invoicePath, eventsPath] = process.argv.slice(2);
if (!invoicePath || !eventsPath) {
  console.error("Usage: node scripts/verify-invoice.ts invoice.json events.csv");
  process.exit(2);
}

const claimed = invoice.parse(JSON.parse(readFileSync(invoicePath, "utf8")));
const check = verifyInvoice(claimed, readEventsCsv(readFileSync(eventsPath, "utf8")));
const say = (isTrue: boolean, text: string) => console.log(`${isTrue ? "ok    " : "WRONG "} ${text}`);

say(check.hashMatches, `the invoice of ${claimed.yearMonth} has the hash ${claimed.contentHash}`);
say(check.sumMatches, `its lines add up to ${claimed.totalCents} cents ${claimed.currency}`);
say(check.events !== "differ", `the file has ${check.counted} events, the invoice counted ${claimed.eventCount}`);
for (const { day, units, cents, proofId, proofHash } of claimed.credits) {
  console.log(`       ${units} units of ${day} are credited (${cents} cents); the receipt of ${proofId} has the hash ${proofHash}`);
}
if (check.events === "corrected") console.log(`       the difference is a line in the invoice of ${claimed.corrections.at(-1)?.inInvoice}`);
if (check.events === "differ") console.log(`       days that differ: ${check.differingDays.join(", ")}`);
process.exitCode = check.hashMatches && check.sumMatches && check.events !== "differ" ? 0 : 1;
