import { count, type StormScene, transitionMark } from "./storm-scene.ts";
import {
  chooseOtherAction,
  disconnect,
  moveAccount,
  reconnect,
  rename,
  revoke,
  type StormSite,
  setPause,
  switchDelivery,
} from "./storm-sites.ts";

/** What goes wrong at Google, and what owners change about a site's connection. */

const uploads = ["ingest", "uploadClickConversions", "uploadConversionAdjustments"] as const;

/** Scripts one fault for one account. Each is used up by a call or a few. */
export async function addFault(scene: StormScene, { customerId }: StormSite): Promise<void> {
  const { stack, random } = scene;
  const method = random.weighed([
    [6, random.pick(uploads)],
    [1, "retrieve"],
    [1, "token"],
  ] as const);
  const match = { method, account: customerId };
  const kind = random.weighed([
    [3, "429"],
    [3, "5xx"],
    [1, "outage"],
    [1, "daily quota"],
    [4, "timeout_after_accept"],
    [2, "timeout"],
    [2, "malformed"],
    [3, "slow"],
    [3, "partial"],
  ] as const);
  const faults = {
    "429": { kind: "status", status: 429, retryDelay: "30s" },
    "5xx": { kind: "status", status: random.pick([500, 503]) },
    outage: { kind: "status", status: 503, times: 8 }, // long enough to open the circuit
    "daily quota": { kind: "status", status: 429, retryDelay: "3600s", isDaily: true },
    timeout_after_accept: { kind: "timeout_after_accept", delayMs: random.integer(0, 200) },
    timeout: { kind: "timeout", delayMs: random.integer(0, 200) },
    malformed: { kind: "malformed" },
    slow: { kind: "slow", delayMs: random.integer(200, 1500) },
    partial: {
      kind: "partial",
      errors: [{ index: 0, code: { internalError: "TRANSIENT_ERROR" }, reason: "PROCESSING_ERROR_REASON_INTERNAL_ERROR" }],
    },
  } as const;
  // Only uploads have rows, and a request for a token is answered or not.
  const fault = method === "token" || method === "retrieve" ? faults[kind === "partial" ? "5xx" : kind] : faults[kind];
  await stack.google.addFault({ match, ...fault });
  count(scene, `fault: ${kind}`);
}

/** The owner of one site does something about its connection, or Google does. */
export async function changeConnection(scene: StormScene, site: StormSite): Promise<void> {
  const { stack, random } = scene;
  if (site.isRevoked) {
    await reconnect(stack, site, site.transport);
    return count(scene, "reconnections");
  }
  if (site.name === "switching" && random.chance(0.7)) {
    await switchDelivery(stack, site, site.method === "api" ? "script" : "api");
    return count(scene, "switches between script and API");
  }
  if (site.name === "moving" && random.chance(0.5)) {
    await moveAccount(stack, site);
    return count(scene, "moves to another account");
  }
  if (site.name === "changing" && random.chance(0.7)) {
    await reconnect(stack, site, site.transport === "ads_api" ? "data_manager" : "ads_api");
    return count(scene, "switches between the APIs");
  }
  const change = random.weighed([
    [2, "other conversion actions"],
    [2, "renames"],
    [1, "disconnections"],
    [3, "revocations"],
  ] as const);
  const changes = { "other conversion actions": chooseOtherAction, renames: rename, disconnections: disconnect, revocations: revoke };
  await changes[change](stack, site);
  count(scene, change);
}

/** The owner pauses sending for minutes or hours, or ends the pause. */
export async function changePause(scene: StormScene, site: StormSite): Promise<void> {
  const { stack, random, pauses } = scene;
  const last = pauses.findLast(({ siteUuid }) => siteUuid === site.team.siteUuid);
  const mark = await transitionMark(scene);
  if (last) last.endMark = Math.min(last.endMark, mark);
  const until = site.pausedUntil ? null : new Date(stack.clock.now().getTime() + random.integer(5, 300) * 60_000);
  await setPause(stack, site, until);
  if (until) pauses.push({ siteUuid: site.team.siteUuid, until, mark: await transitionMark(scene), endMark: Number.MAX_SAFE_INTEGER });
  count(scene, until ? "pauses" : "pauses ended");
}
