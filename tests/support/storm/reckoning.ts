import type { CallRecord, SentRow } from "#scripts/local/google/sim-shapes.ts";
import type { ShownConversion } from "#tests/fixtures/worker/google-client.ts";
import { type BookedSale, readClaims, readLeftovers, readSales, readSignals } from "./ledger.ts";
import type { Fate, StormScene } from "./storm-scene.ts";

/** Everything that is not as it should be when the storm is over: one sentence each, with what tells which sale. */
export async function findProblems(scene: StormScene): Promise<string[]> {
  const { stack } = scene;
  await stack.sql()`analyze`; // a crash forgets what the planner knew
  const sales = await readSales(stack.sql());
  const conversions = Map.groupBy(await stack.google.conversions(), ({ orderId }) => orderId ?? "");
  const sends = countSends(await stack.google.log());
  const fates = new Map(scene.sales.map(({ saleId, fate }) => [saleId, fate]));
  const withdrawn = new Set(scene.bars.filter(({ why }) => why === "withdrawn").map(({ saleId }) => saleId));
  const leftovers = Object.entries(await readLeftovers(stack.sql())).filter(([, rows]) => rows > 0);
  return [
    ...sales.flatMap((sale) =>
      judgeSale(sale, conversions.get(sale.orderId) ?? [], { fate: fates.get(sale.id) ?? null, isWithdrawn: withdrawn.has(sale.id) }),
    ),
    ...sales.flatMap((sale) => judgeSends(sale, sends.get(sale.orderId) ?? { all: 0, faulty: 0 })),
    ...judgeLeads(sales, conversions),
    ...(await judgeSignals(scene, conversions)),
    ...(await judgeClaims(scene)),
    ...(await judgePauses(scene)),
    ...unknownOrders(sales, conversions),
    ...leftovers.map(([what, rows]) => `${rows} ${what}`),
  ];
}

type Conversions = Map<string, ShownConversion[]>;
const isLive = ({ isRetracted }: ShownConversion) => !isRetracted;

interface About {
  fate: Fate;
  isWithdrawn: boolean;
}

/** One sale against what Google counts of it. A visitor who withdrew consent ends what is not there yet; what is there must be right. */
function judgeSale(sale: BookedSale, found: ShownConversion[], { fate, isWithdrawn }: About): string[] {
  const { id, status, amountCents, block, claims } = sale;
  const [conversion] = found;
  const say = (what: string) => [`sale ${id}: ${what}`];
  if (found.length > 1) return say(`counted ${found.length} times`);
  if (fate === "NotFound") return conversion ? say("counted for a click that Google does not know") : [];
  if (status === "CANCELED") return conversion && isLive(conversion) ? say("counts although it was cancelled") : [];
  if (block !== null) return conversion ? say(`counts although ${block}, handed out ${claims} times`) : [];
  if (!conversion) return isWithdrawn ? [] : say("lost");
  if (!isLive(conversion)) return say("was taken back although it lives");
  const cents = Math.round(conversion.value * 100);
  return cents === amountCents ? [] : say(`counts ${cents} instead of ${amountCents}`);
}

/** A send for every hand-out at most, and each that is not in our books explained by an answer that never came, or made no sense. */
function judgeSends({ id, claims, dispatches, unanswered }: BookedSale, { all, faulty }: Sends): string[] {
  if (all > claims) return [`sale ${id}: sent ${all} times, handed out ${claims} times`];
  const extra = all - faulty - dispatches;
  return extra > unanswered ? [`sale ${id}: ${extra} sends too many, of which ${unanswered} are explained`] : [];
}

interface Sends {
  all: number;
  /** Those whose answer was lost or spoilt on the way. */
  faulty: number;
}

/** What Google refused on the spot, it does not have. */
const isTaken = ({ outcome }: SentRow) => ["ACCEPTED", "COUNTED", "DUPLICATE"].includes(outcome);

/** Calls can be sent twice within one hand-out only after a 401, which takes nothing; by hand is no send of ours. */
function countSends(log: CallRecord[]): Map<string, Sends> {
  const sends = new Map<string, Sends>();
  for (const { rows, status, isValidateOnly, method, fault } of log) {
    if (status !== 200 || isValidateOnly || method === "by-hand") continue;
    for (const { orderId } of rows.filter(isTaken)) {
      const { all, faulty } = sends.get(orderId ?? "") ?? { all: 0, faulty: 0 };
      sends.set(orderId ?? "", { all: all + 1, faulty: faulty + (fault ? 1 : 0) });
    }
  }
  return sends;
}

/** A lead has one sale that counts, however often it was cancelled and sealed again. */
function judgeLeads(sales: BookedSale[], conversions: Conversions): string[] {
  const leads = Map.groupBy(sales, ({ callId }) => callId);
  return [...leads].flatMap(([callId, own]) => {
    const live = own.flatMap(({ orderId }) => (conversions.get(orderId) ?? []).filter(isLive));
    return live.length > 1 ? [`lead ${callId}: ${live.length} of its sales count`] : [];
  });
}

async function judgeSignals({ stack }: StormScene, conversions: Conversions): Promise<string[]> {
  return (await readSignals(stack.sql())).flatMap(({ orderId, status, value, attempts, verdict }) => {
    const found = conversions.get(orderId) ?? [];
    if (found.length > 1) return [`${orderId}: counted ${found.length} times`];
    if (verdict === "REJECTED") return found.length > 0 ? [`${orderId}: counts although it was rejected`] : [];
    if (verdict === "UNKNOWN" && found.length === 0) return []; // it may count, and it may not
    if (status === "SENT") return found[0]?.value === value ? [] : [`${orderId}: counts ${found[0]?.value} instead of ${value}`];
    return found.length > 0 && attempts === 0 ? [`${orderId}: counts and was never handed out`] : [];
  });
}

/** Nothing is handed out after a cancellation or a withdrawal that was committed before. */
async function judgeClaims({ stack, bars }: StormScene): Promise<string[]> {
  const barsOf = Map.groupBy(bars, ({ saleId }) => saleId);
  return (await readClaims(stack.sql())).flatMap(({ saleId, mark }) => {
    const last = barsOf.get(saleId)?.findLast((bar) => bar.mark < mark);
    const isWithdrawn = barsOf.get(saleId)?.some((bar) => bar.why === "withdrawn" && bar.mark < mark);
    return isWithdrawn || last?.why === "cancelled"
      ? [`sale ${saleId}: handed out after it was ${isWithdrawn ? "withdrawn" : last?.why}`]
      : [];
  });
}

/** Nothing is handed out while a pause lasts. */
async function judgePauses({ stack, pauses }: StormScene): Promise<string[]> {
  const pausesOf = Map.groupBy(pauses, ({ siteUuid }) => siteUuid);
  return (await readClaims(stack.sql())).flatMap(({ saleId, siteUuid, mark, at }) =>
    pausesOf.get(siteUuid)?.some((pause) => pause.mark < mark && mark <= pause.endMark && at < pause.until)
      ? [`sale ${saleId}: handed out while its site was paused`]
      : [],
  );
}

function unknownOrders(sales: BookedSale[], conversions: Conversions): string[] {
  const known = new Set(sales.map(({ orderId }) => orderId));
  return [...conversions.keys()]
    .filter((id) => !known.has(id) && !id.startsWith("signal_"))
    .map((id) => `Google counts ${id}, which we do not know`);
}
