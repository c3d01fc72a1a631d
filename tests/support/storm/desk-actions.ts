import { randomUUID } from "node:crypto";
import { callAs } from "#tests/fixtures/act-as.ts";
import { bulkSeal } from "#tests/fixtures/bulk-seal.ts";
import { change, newLead } from "#tests/fixtures/leads.ts";
import { count, type Fate, orRefused, type StormSale, type StormScene, transitionMark } from "./storm-scene.ts";
import type { StormSite } from "./storm-sites.ts";

/** What happens at the desk: leads come in and are sealed, corrected, cancelled, restored; visitors withdraw their consent. */

const cents = ({ random }: StormScene) => random.integer(100, 900_000);

/** So many leads of one site, called minutes ago and sealed now. */
export async function seal(scene: StormScene, site: StormSite, leads: number): Promise<void> {
  const { stack, random } = scene;
  // A script gets no verdicts, so only good clicks make sense there.
  const fate: Fate =
    site.name === "switching"
      ? null
      : random.weighed([
          [90, null],
          [3, "NotFound"],
          [3, "TooRecent"],
          [4, "InternalOnce"],
        ] as const);
  const click = random.weighed([
    [86, "gclid"],
    [7, "gbraid"],
    [7, "wbraid"],
  ] as const);
  const hasAgreed = random.chance(0.3);
  const about = (stamp: string) => ({
    ...(fate && { gclid: `gclid-${fate}-${stamp}`, gbraid: null, wbraid: null }),
    ...(hasAgreed && { scopes: ["analytics", "marketing"], phone: "+905301234567" }),
  });
  const ids = await bulkSeal(stack.sql(), site.team, leads, { at: stack.clock.now(), click, amountCents: cents(scene), about });
  const rows = await stack.sql()`
    select q.sale_id, q.call_id, c.visitor_id from public.offline_conversion_queue q join public.calls c on c.id = q.call_id
    where q.id = any (${ids}) order by q.created_at, q.id`;
  scene.sales.push(...rows.map((row): StormSale => ({ saleId: row.sale_id, callId: row.call_id, site, visitor: row.visitor_id, fate })));
  count(scene, "seals", rows.length);
}

export async function correct(scene: StormScene, { saleId, site }: StormSale): Promise<void> {
  const amountCents = cents(scene);
  await orRefused(scene, "corrections", () =>
    change(scene.stack.sql(), site, "correct_sale", { id: saleId, amountCents }, { at: scene.stack.clock.now() }),
  );
}

export async function cancel(scene: StormScene, sale: StormSale): Promise<void> {
  const { saleId, site } = sale;
  const done = await orRefused(scene, "cancellations", () =>
    change(scene.stack.sql(), site, "cancel_sale", { id: saleId }, { at: scene.stack.clock.now() }),
  );
  if (!done) return;
  scene.cancelled.push(sale);
  scene.bars.push({ saleId, why: "cancelled", mark: await transitionMark(scene) });
}

/** A cancelled sale comes back: the same one, unless its retraction may have arrived. */
export async function restore(scene: StormScene, { saleId, callId, site, visitor, fate }: StormSale): Promise<void> {
  const { stack, random, bars } = scene;
  const at = stack.clock.now();
  const mark = await transitionMark(scene);
  if (random.chance(0.5)) {
    const move = { contract: "sale", id: saleId, to: "CONFIRMED" };
    const done = await orRefused(scene, "restores", () =>
      callAs(
        stack.sql(),
        site.team.operator,
        (tx) => tx`select public.transition_contract(${tx.json(move)}, ${randomUUID()}, ${"0".repeat(64)})`,
        at,
      ),
    );
    if (done) bars.push({ saleId, why: "restored", mark });
    return;
  }
  const done = await orRefused(scene, "seals again", () =>
    change(stack.sql(), site, "seal_call", { id: callId, amountCents: cents(scene) }, { at }),
  );
  const newId = done && String(done.body.saleId);
  if (!newId) return;
  bars.push({ saleId: newId, why: "restored", mark }); // perhaps another of the lead's sales than the one that was cancelled last
  if (!scene.sales.some((sale) => sale.saleId === newId)) scene.sales.push({ saleId: newId, callId, site, visitor, fate });
}

export async function withdraw(scene: StormScene, { saleId, site, visitor }: StormSale): Promise<void> {
  const { stack, bars } = scene;
  const p_choice = { visitor, scopes: [], ageMs: 0 };
  await stack.sql().begin(async (tx) => {
    await tx`select set_config('opsmantik.now', ${stack.clock.now().toISOString()}, true)`;
    await tx`select public.record_consent(${site.team.siteUuid}, ${tx.json(p_choice)})`;
  });
  count(scene, "withdrawals");
  bars.push({ saleId, why: "withdrawn", mark: await transitionMark(scene) });
}

/** A lead that goes through the stages before a seal, each of which Google hears of where the owner wants it. */
export async function qualify(scene: StormScene, site: StormSite): Promise<void> {
  const { stack, random } = scene;
  const at = stack.clock.now();
  const callId = await newLead(stack.sql(), site.team, { at });
  await orRefused(scene, "leads qualified", () => change(stack.sql(), site, "change_call", { id: callId, to: "qualified" }, { at }));
  if (random.chance(0.4))
    await orRefused(scene, "meetings", () => change(stack.sql(), site, "change_call", { id: callId, to: "meeting" }, { at }));
  if (random.chance(0.15))
    await orRefused(scene, "junk", () => change(stack.sql(), site, "change_call", { id: callId, to: "junk" }, { at }));
}
