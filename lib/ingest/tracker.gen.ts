/** Written by scripts/build-tracker.ts. */
export const tracker = {
  path: "/om.v2.js",
  integrity: "sha384-vwvBcyaPESBA9vb9xcc6SfgspnAMPFO9uBu0MtFkzmKc95npeCoXAzD3D0OEpXQX",
  gzipBytes: 2961,
};
