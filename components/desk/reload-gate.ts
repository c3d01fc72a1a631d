/** Two looks for changes overlap by 20 s, so after a reload the same changes may be too many once more. */
const reloadEveryMs = 15_000;

interface Look {
  isTruncated: boolean;
  isTouched: boolean;
  nowMs: number;
}

/** Says after each look for changes whether to read the list anew: once it is needed, when nobody touches it, and not at every look. */
export function reloadGate(): (look: Look) => boolean {
  let isNeeded = false;
  let reloadedMs = Number.NEGATIVE_INFINITY;
  return ({ isTruncated, isTouched, nowMs }) => {
    isNeeded ||= isTruncated;
    if (!isNeeded || isTouched || nowMs - reloadedMs < reloadEveryMs) return false;
    isNeeded = false;
    reloadedMs = nowMs;
    return true;
  };
}
