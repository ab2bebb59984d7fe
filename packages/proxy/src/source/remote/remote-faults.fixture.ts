import type { Answer } from "@bunting/test/support/http-server.js";

export const status =
  (code: number, headers: Readonly<Record<string, string>> = {}): Answer =>
  (_request, response) =>
    void response.writeHead(code, headers).end();

const hanging: Answer = (_request, response) => void response.writeHead(200).write("{");
/** The time of an answer, in tests. */
export const timeoutMs = 400;

/** What a server over HTTP may do in place of an answer: each takes nothing away, and is told by its reason. */
export const answersOfFaults: readonly (readonly [what: string, answer: Answer, reason: string])[] = [
  ["404", status(404), "Missing"],
  ["410", status(410), "Missing"],
  ["429", status(429), "Throttled"],
  ["500", status(500), "ServerError"],
  ["503", status(503), "ServerError"],
  ["a redirect", status(302, { location: "https://elsewhere.test/" }), "Redirect"],
  ["what is no document", (_request, response) => void response.end("<html>"), "DocumentInvalid"],
  [
    "half a document",
    (_request, response) =>
      void response.writeHead(200, { "content-length": "900" }).write("{", () => response.destroy()),
    "Unreachable",
  ],
  ["nothing", (_request, response) => void response.end(""), "Empty"],
  ["a connection that breaks", (_request, response) => void response.socket?.destroy(), "Unreachable"],
  ["a beginning, and nothing after it", hanging, "Timeout"],
  ["silence", () => undefined, "Timeout"],
];
