/** Written by scripts/build-tracker.ts. */
export const tracker = {
  path: "/om.v2.js",
  integrity: "sha384-2ECNPKhv6lcYIfKlOrXkRJdNI8T4yZnlccwAVqvc7ipMhsfMQP2dVhxVyUqnRMod",
  gzipBytes: 2868,
};
