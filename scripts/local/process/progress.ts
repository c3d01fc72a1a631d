const frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/** Shows one line per step, with its seconds, and passes the step's result on. */
export async function step<T>(label: string, run: () => Promise<T>, detail?: (result: T) => string): Promise<T> {
  const startedAt = performance.now();
  const seconds = () => `${((performance.now() - startedAt) / 1000).toFixed(1)} s`;
  const stopSpinner = startSpinner(() => `${label} ${seconds()}`);
  try {
    const result = await run();
    stopSpinner();
    const extra = detail?.(result);
    console.log(`  ✓ ${label}${extra ? `: ${extra}` : ""} (${seconds()})`);
    return result;
  } catch (error) {
    stopSpinner();
    console.log(`  ✗ ${label} (${seconds()})`);
    throw error;
  }
}

function startSpinner(text: () => string): () => void {
  if (!process.stdout.isTTY) return () => {};
  let frame = 0;
  const draw = () => process.stdout.write(`\r\u001b[K  ${frames[frame++ % frames.length]} ${text()}`);
  draw();
  const timer = setInterval(draw, 100);
  return () => {
    clearInterval(timer);
    process.stdout.write("\r\u001b[K");
  };
}
