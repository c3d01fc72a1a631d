/** Written by scripts/build-tracker.ts. */
export const tracker = {
  path: "/om.v2.js",
  integrity: "sha384-jScy6yJknqTaqDomj7rl6RA/K5VE97REGIfALQ2EjXPuBfcDCcArBGj+Hp3wmf3Z",
  gzipBytes: 2891,
};
