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

/** Steps that run at once share the last line. */
const running = new Set<() => string>();
let frame = 0;
let timer: NodeJS.Timeout | undefined;

function draw(): void {
  const texts = [...running].map((text) => text());
  process.stdout.write(`\r\u001b[K${texts.length > 0 ? `  ${frames[frame++ % frames.length]} ${texts.join(", ")}` : ""}`);
}

function startSpinner(text: () => string): () => void {
  if (!process.stdout.isTTY) return () => {};
  running.add(text);
  timer ??= setInterval(draw, 100);
  draw();
  return () => {
    running.delete(text);
    process.stdout.write("\r\u001b[K");
    if (running.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}
