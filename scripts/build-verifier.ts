/** npm run verifier:build: writes public/verify.html, the page that checks receipts, invoices and events without us. */
import { writeFileSync } from "node:fs";
import { renderVerifier } from "./render-verifier.ts";

writeFileSync("public/verify.html", await renderVerifier());
