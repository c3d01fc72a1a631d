import { createHash } from "node:crypto";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { rolldown } from "rolldown";
import { trackerVersion } from "#lib/tracker/releases.ts";
import { checkoutDir } from "./local/process/state-dir.ts";

/** Builds the tracker in memory. */
export async function renderTracker(): Promise<{ path: string; code: string; integrity: string }> {
  const bundle = await rolldown({ input: "lib/tracker/main.ts", cwd: checkoutDir, transform: { target: "es2021" } });
  const { output } = await bundle.generate({ format: "iife", minify: true, comments: false });
  await bundle.close();
  const { code } = output[0];
  return { path: `/om.v${trackerVersion}.js`, code, integrity: integrityOf(code) };
}

/** The value of an integrity attribute. */
export function integrityOf(code: string | Buffer): string {
  return `sha384-${createHash("sha384").update(code).digest("base64")}`;
}

/** Bytes on the wire at the best setting of each encoding, which is what a cache in front of an immutable file serves. */
export function compressedBytes(code: string | Buffer): { gzip: number; brotli: number } {
  return {
    gzip: gzipSync(code, { level: 9 }).length,
    brotli: brotliCompressSync(code, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }).length,
  };
}
