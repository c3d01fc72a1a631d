/**
 * SHA-256 (FIPS 180-4) for the offline verifier, whose bundle has it in place of node:crypto: the browser's own answers later, and the code
 * that hashes does not wait. Its constants are the first bits of roots of primes, computed as the standard defines them.
 */

const primes = Array.from({ length: 312 }, (_, index) => index).filter(
  (each) => each > 1 && !Array.from({ length: each }, (_, by) => by).some((by) => by > 1 && each % by === 0),
);
const firstBits = (root: number) => ((root - Math.floor(root)) * 2 ** 32) | 0;
const rounds = primes.slice(0, 64).map((prime) => firstBits(Math.cbrt(prime)));
const start = primes.slice(0, 8).map((prime) => firstBits(Math.sqrt(prime)));

const turn = (word: number, by: number) => (word >>> by) | (word << (32 - by));
const at = (words: ArrayLike<number>, index: number) => words[index] ?? 0;

function digestBlock(state: Int32Array, block: DataView, from: number, schedule: Int32Array): void {
  for (let index = 0; index < 16; index++) schedule[index] = block.getInt32(from + index * 4);
  for (let index = 16; index < 64; index++) {
    const [early, late] = [at(schedule, index - 15), at(schedule, index - 2)];
    const low = turn(early, 7) ^ turn(early, 18) ^ (early >>> 3);
    const high = turn(late, 17) ^ turn(late, 19) ^ (late >>> 10);
    schedule[index] = at(schedule, index - 16) + low + at(schedule, index - 7) + high;
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
  for (let index = 0; index < 64; index++) {
    const chosen = (e & f) ^ (~e & g);
    const one = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + chosen + at(rounds, index) + at(schedule, index)) | 0;
    const two = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
  }
  for (const [index, word] of [a, b, c, d, e, f, g, h].entries()) state[index] = at(state, index) + word;
}

function sha256(content: Uint8Array): string {
  const padded = new Uint8Array(Math.ceil((content.length + 9) / 64) * 64);
  padded.set(content);
  padded[content.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setBigUint64(padded.length - 8, BigInt(content.length) * 8n);
  const state = Int32Array.from(start);
  const schedule = new Int32Array(64);
  for (let from = 0; from < padded.length; from += 64) digestBlock(state, view, from, schedule);
  return [...state].map((word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
}

const fromHex = (text: string) =>
  Uint8Array.from({ length: text.length / 2 }, (_, index) => Number.parseInt(text.slice(index * 2, index * 2 + 2), 16));

/** As much of node:crypto as the hashing code uses. */
export function createHash(_algorithm: "sha256") {
  return {
    update: (content: string, encoding: "utf8" | "hex" = "utf8") => ({
      digest: (_as: "hex") => sha256(encoding === "hex" ? fromHex(content) : new TextEncoder().encode(content)),
    }),
  };
}
