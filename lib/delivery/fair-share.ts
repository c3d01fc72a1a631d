/** What fair share needs to know of one (site, provider) with due rows. */
export interface ShareGroup {
  queuedCount: number;
  state: "CLOSED" | "OPEN" | "HALF_OPEN";
  /** The circuit lets a few rows through, to see whether the provider is back. */
  isProbeDue: boolean;
  probeLimit: number;
  /** When a worker last claimed for the group. Kept in provider_health_state, so that every worker sees the same. */
  servedAt: string | null;
}

interface Share<Group> {
  group: Group;
  rows: number;
}

/**
 * How many rows each group may claim in this run. Groups come in the order of list_offline_conversion_groups, which decides ties.
 * - CLOSED groups share by backlog: floor(limit × queued / total), at least 1; over the limit, the largest gives one back, the first of equals;
 *   what is left goes round one by one.
 * - A probe takes at most its probe limit and at most an equal part of the limit, before the others share.
 * - With more groups than rows to give, the least recently served get one row each: all are served within ⌈groups / limit⌉ + 1 runs.
 * The sum never exceeds the limit, and no group gets a second row while another could use its first.
 */
export function fairShare<Group extends ShareGroup>(groups: readonly Group[], limit: number): Share<Group>[] {
  const served = groups.filter((group) => capacityOf(group) > 0);
  if (limit < 1 || served.length === 0) return [];
  const shares = served.length > limit ? oneEach(served, limit) : byBacklog(served, limit);
  return served.flatMap((group) => {
    const rows = shares.get(group) ?? 0;
    return rows > 0 ? [{ group, rows }] : [];
  });
}

/** What a group could use. While a circuit is open, or another worker probes, nothing. */
function capacityOf({ state, isProbeDue, queuedCount, probeLimit }: ShareGroup): number {
  if (state === "CLOSED") return queuedCount;
  return isProbeDue ? Math.min(queuedCount, probeLimit) : 0;
}

type Shares<Group> = Map<Group, number>;

function oneEach<Group extends ShareGroup>(groups: readonly Group[], limit: number): Shares<Group> {
  const servedTime = ({ servedAt }: Group) => (servedAt === null ? Number.NEGATIVE_INFINITY : Date.parse(servedAt));
  const longestWaiting = groups.toSorted((a, b) => (servedTime(a) === servedTime(b) ? 0 : servedTime(a) - servedTime(b)));
  return new Map(longestWaiting.slice(0, limit).map((group) => [group, 1]));
}

/** Not more groups than rows, so each gets at least one. */
function byBacklog<Group extends ShareGroup>(groups: readonly Group[], limit: number): Shares<Group> {
  const closed = groups.filter(({ state }) => state === "CLOSED");
  const probing = groups.filter(({ state }) => state !== "CLOSED");
  const equalPart = Math.floor(limit / groups.length);
  const shares: Shares<Group> = new Map(probing.map((group) => [group, Math.min(capacityOf(group), equalPart)]));
  const left = limit - sumOf(shares, probing);
  const totalQueued = closed.reduce((sum, { queuedCount }) => sum + queuedCount, 0);
  for (const group of closed) {
    const part = Math.floor((left * group.queuedCount) / totalQueued);
    shares.set(group, Math.max(1, Math.min(part, group.queuedCount)));
  }
  for (let over = sumOf(shares, closed) - left; over > 0; over--) takeOneFromLargest(shares, closed);
  giveRound(shares, closed, limit);
  giveRound(shares, probing, limit);
  return shares;
}

function takeOneFromLargest<Group extends ShareGroup>(shares: Shares<Group>, groups: readonly Group[]): void {
  const largest = Math.max(...groups.map((group) => shares.get(group) ?? 0));
  const first = groups.find((group) => shares.get(group) === largest);
  if (first) shares.set(first, largest - 1);
}

/** One row each in turn, until the limit is reached or nobody can use more. */
function giveRound<Group extends ShareGroup>(shares: Shares<Group>, groups: readonly Group[], limit: number): void {
  let left = limit - sumOf(shares, [...shares.keys()]);
  let hungry = groups.filter((group) => (shares.get(group) ?? 0) < capacityOf(group));
  while (left > 0 && hungry.length > 0) {
    for (const group of hungry.slice(0, left)) shares.set(group, (shares.get(group) ?? 0) + 1);
    left -= Math.min(left, hungry.length);
    hungry = hungry.filter((group) => (shares.get(group) ?? 0) < capacityOf(group));
  }
}

function sumOf<Group>(shares: Shares<Group>, groups: readonly Group[]): number {
  return groups.reduce((sum, group) => sum + (shares.get(group) ?? 0), 0);
}
