interface AbortLimits {
  signal: AbortSignal | undefined;
  /** How long the work may still answer after the signal. */
  graceMs?: number;
  errorOf(): Error;
}

/** The work's result, or an error once the signal and the time after it are over. The work is then no longer awaited. */
export function untilAborted<T>(work: Promise<T>, { signal, graceMs = 0, errorOf }: AbortLimits): Promise<T> {
  if (!signal) return work;
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  let timer: NodeJS.Timeout | undefined;
  const onAbort = () => {
    timer = setTimeout(() => reject(errorOf()), graceMs);
  };
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });
  return Promise.race([work, aborted]).finally(() => {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  });
}
