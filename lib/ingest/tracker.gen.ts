/** Written by scripts/build-tracker.ts. */
export const tracker = {
  path: "/om.v1.js",
  integrity: "sha384-nAKUWI4lpKf/F6370kbNCF7sHZUXQcszUG7BMk69ChklXxrLrzjDtpBHc73MDael",
  gzipBytes: 2499,
};
