/** The app logs one JSON line per request; in a test run they would bury what the tests say. A test that wants them spies itself. */
const write = process.stdout.write.bind(process.stdout);

process.stdout.write = ((chunk: string | Uint8Array, ...rest: never[]) =>
  typeof chunk === "string" && chunk.startsWith('{"time":') ? true : write(chunk, ...rest)) as typeof process.stdout.write; // overloads
