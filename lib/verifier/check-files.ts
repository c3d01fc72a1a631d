import { type Invoice, invoice } from "#lib/billing/billing-shapes.ts";
import { type CountedKey, readEventsCsv, verifyInvoice } from "#lib/billing/verify-invoice.ts";
import { findFault } from "#lib/contracts/proof-hash.ts";
import { type ProofReceipt, proofReceipt } from "#lib/contracts/receipt-shape.ts";

export interface GivenFile {
  name: string;
  text: string;
}

/** One sentence about a file: a key of the `verifier` messages with its values. `holds` is null for what alone proves nothing. */
export interface Finding {
  file: string;
  holds: boolean | null;
  message: string;
  values: Record<string, string>;
}

type Known =
  | { file: string; receipt: ProofReceipt }
  | { file: string; invoice: Invoice }
  | { file: string; events: CountedKey[] }
  | { file: string; unreadable: string };

/** Everything that can be said about these files without asking anybody, each by itself and against the others. */
export function checkFiles(files: GivenFile[]): Finding[] {
  const known = files.map(readFile);
  const receipts = known.filter((each) => "receipt" in each);
  const invoices = known.filter((each) => "invoice" in each);
  return [
    ...known.flatMap((each) => {
      if ("unreadable" in each) return [say(each.file, false, "unreadable", { why: each.unreadable })];
      if ("receipt" in each) return [checkReceipt(each.file, each.receipt)];
      if ("invoice" in each) return checkInvoice(each.file, each.invoice, receipts);
      return [checkEvents(each.file, each.events, invoices)];
    }),
    ...checkChain(receipts),
  ];
}

const say = (file: string, holds: boolean | null, message: string, values: Record<string, string | number> = {}): Finding => ({
  file,
  holds,
  message,
  values: Object.fromEntries(Object.entries(values).map(([key, value]) => [key, String(value)])),
});

function readFile({ name: file, text }: GivenFile): Known {
  try {
    if (!text.trimStart().startsWith("{")) return { file, events: readEventsCsv(text) };
    const content: unknown = JSON.parse(text);
    const isReceipt = typeof content === "object" && content !== null && "proof_id" in content;
    return isReceipt ? { file, receipt: proofReceipt.parse(content) } : { file, invoice: invoice.parse(content) };
  } catch (error) {
    return { file, unreadable: error instanceof Error ? error.message.slice(0, 200) : String(error) };
  }
}

function checkReceipt(file: string, receipt: ProofReceipt): Finding {
  const fault = findFault(receipt);
  if (fault) return say(file, false, `receipt.${fault}`);
  const { contract, from, to, occurred_at: at, block } = receipt;
  const move = { contract, from: from ?? "–", to, at };
  return block ? say(file, true, "receipt.holds", { ...move, block: block.number }) : say(file, true, "receipt.unsealed", move);
}

function checkInvoice(file: string, bill: Invoice, receipts: { file: string; receipt: ProofReceipt }[]): Finding[] {
  const { hashMatches, sumMatches } = verifyInvoice(bill, []);
  const values = { month: bill.yearMonth, count: bill.eventCount, total: (bill.totalCents / 100).toFixed(2), currency: bill.currency };
  const own = !hashMatches ? "hash" : !sumMatches ? "sum" : "holds";
  const credits = bill.credits.flatMap(({ proofId, proofHash, day }) => {
    const given = receipts.find(({ receipt }) => receipt.proof_id === proofId);
    return given
      ? [say(given.file, given.receipt.hash === proofHash, given.receipt.hash === proofHash ? "credit.holds" : "credit.differs", { day })]
      : [];
  });
  return [say(file, own === "holds", `invoice.${own}`, values), ...credits];
}

function checkEvents(file: string, events: CountedKey[], invoices: { invoice: Invoice }[]): Finding {
  const month = events[0]?.at.slice(0, 7) ?? "";
  const bill = invoices.find((each) => each.invoice.yearMonth === month)?.invoice;
  if (!bill) return say(file, null, "events.alone", { count: events.length, month });
  const check = verifyInvoice(bill, events);
  const values = { count: events.length, month, days: check.differingDays.join(", "), later: bill.corrections.at(-1)?.inInvoice ?? "" };
  return say(file, check.events !== "differ", `events.${check.events}`, values);
}

/** Receipts of one site contain its blocks: the same number is the same block, and each contains the root of the one before. */
function checkChain(receipts: { file: string; receipt: ProofReceipt }[]): Finding[] {
  const blocks = receipts.flatMap(({ file, receipt: { site, block } }) => (block ? [{ file, site, ...block }] : []));
  return blocks.flatMap((block) => {
    const others = blocks.filter((other) => other.site === block.site && other.file !== block.file);
    const fork = others.find((other) => other.number === block.number && other.root !== block.root && other.file > block.file);
    const torn = others.find((other) => other.number === block.number + 1 && other.previous_root !== block.root);
    return [
      ...(fork ? [say(block.file, false, "chain.fork", { other: fork.file, block: block.number })] : []),
      ...(torn ? [say(block.file, false, "chain.torn", { other: torn.file, block: block.number })] : []),
    ];
  });
}
