import { AppError } from "#lib/platform/app-error.ts";

const defaultMaxBytes = 64 * 1024;

/** Reads the body, counting what arrives: a content-length header may lie. Stops reading at the limit. */
export async function readBody(request: Request, maxBytes = defaultMaxBytes): Promise<string> {
  if (!request.body) return "";
  const chunks: Uint8Array[] = [];
  let size = 0;
  const reader = request.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.byteLength;
    if (size > maxBytes) {
      await reader.cancel();
      throw new AppError("PAYLOAD_TOO_LARGE", {
        detail: `The body is larger than ${maxBytes} bytes.`,
        extra: { maxBytes },
        // The rest of the body would be read as the next request on this connection.
        headers: { connection: "close" },
      });
    }
    chunks.push(value);
  }
  return Buffer.concat(chunks).toString("utf8");
}
