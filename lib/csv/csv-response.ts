/** A CSV file to download. */
export function csvResponse(body: BodyInit, fileName: string): Response {
  return new Response(body, {
    headers: {
      "content-type": "text/csv; charset=utf-8",
      "content-disposition": `attachment; filename="${fileName}"`,
      "x-content-type-options": "nosniff",
    },
  });
}

/**
 * The same, made while it is being sent, so that a million lines need no more memory than one page of them.
 * A failure on the way breaks the download: a file that ends early must not look complete.
 */
export function streamedCsv(lines: AsyncGenerator<string>, fileName: string): Response {
  const body = new ReadableStream<string>({
    async pull(controller) {
      const { value, done } = await lines.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: () => void lines.return(undefined),
  });
  return csvResponse(body.pipeThrough(new TextEncoderStream()), fileName);
}
