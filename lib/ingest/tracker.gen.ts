/** Written by scripts/build-tracker.ts. */
export const tracker = {
  path: "/om.v2.js",
  integrity: "sha384-/+NcrIhGmVuFGVWxFe8XBNCo/P0wQdVo4FcSnFpeTelwhKv2Yg/ohMt+CZJXafmx",
  gzipBytes: 2894,
};
