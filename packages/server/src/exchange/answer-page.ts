import type { ServerResponse } from "node:http";
import { chargeAnswer } from "@bunting/http2";

/** Answers a request for a page, whole; no cache keeps it. Headers that were set before are sent with it. */
export function answerPage(response: ServerResponse, status: number, type: string, body: string): void {
  const bytes = Buffer.byteLength(body);
  response.writeHead(status, {
    "content-type": type,
    "content-length": bytes,
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  });
  response.end(response.req.method === "HEAD" ? undefined : body);
  chargeAnswer(response, bytes);
}
