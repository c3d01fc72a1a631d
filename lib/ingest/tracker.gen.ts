/** Written by scripts/build-tracker.ts. */
export const tracker = {
  path: "/om.v2.js",
  integrity: "sha384-isct3B3ZCarG02yj0hnqVlVxHwMWYz0PzdzqOX7v2JCqZsHX/pnd74NHzZnn2F/M",
  gzipBytes: 2949,
};
