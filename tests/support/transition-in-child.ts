/** Run as a process of its own by tests that restart or kill the app: one POST /v1/contract/transition, as the argument says. */
import { POST } from "#app/v1/contract/transition/route.ts";

const { headers, body } = JSON.parse(process.argv[2] ?? "{}");
const request = new Request("https://app.opsmantik.test/v1/contract/transition", { method: "POST", headers, body });
const response = await POST(request, { params: Promise.resolve({}) });
const replayed = response.headers.get("idempotent-replayed") === "true";
process.stdout.write(`${JSON.stringify({ status: response.status, replayed, text: await response.text() })}\n`);
process.exit(0);
