/** Written by scripts/build-tracker.ts. */
export const tracker = {
  path: "/om.v2.js",
  integrity: "sha384-bZCIE104pfA3yGcTuBjl8G6HSeIVC948OhJGtQJtxR6fMcbueVkqiPY7MOHzS73v",
  gzipBytes: 2929,
};
