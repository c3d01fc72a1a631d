/** Written by scripts/build-tracker.ts. */
export const tracker = {
  path: "/om.v1.js",
  integrity: "sha384-5tik8bpY/K++ZsvQHOR5KmiFY4HauzPyr02JIrEZHVXLKJepULGZPb6gvMyUmg/Y",
  gzipBytes: 2500,
};
