/** Written by scripts/build-tracker.ts. */
export const tracker = {
  path: "/om.v2.js",
  integrity: "sha384-bKrTSlMcgDvLe1Md3dLIU7i18oLs1Z+V7MAVhnicvaiQgzGeBVP+2zDJWusJ3col",
  gzipBytes: 2865,
};
