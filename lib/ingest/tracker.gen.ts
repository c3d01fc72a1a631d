/** Written by scripts/build-tracker.ts. */
export const tracker = {
  path: "/om.v2.js",
  integrity: "sha384-NNYI1Cd/QdMm7VCIb30nFk9Rgkfvf2zcsZ/F9QegbM+hvQUEc4f1xCa4c7pwwNQe",
  gzipBytes: 2868,
};
