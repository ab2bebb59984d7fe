import { once } from "node:events";
import { createConnection } from "node:net";
import { expect } from "chai";
import { createCors } from "../http/cors.js";
import { createWorld, listen, releaseAfterEach, type World } from "../api.fixture.js";
import { LongRequestQueue } from "@bunting/server";
import { OfrepAnswers } from "./ofrep-answers.js";
import { createOfrepListener } from "./ofrep-listener.js";
import { wholeOfrepRequests } from "./whole-ofrep-requests.js";

const bulk = "/ofrep/v1/evaluate/flags";
const document = {
  flags: {
    on: {
      state: "ENABLED",
      variants: { on: true, off: false },
      defaultVariant: "on",
      metadata: { owner: "ada" },
    },
    "naïve key": { state: "ENABLED", variants: { n: "ï" }, defaultVariant: "n" },
    targeted: {
      state: "ENABLED",
      variants: { red: "r", blue: "b" },
      defaultVariant: "red",
      targeting: { var: "color" },
    },
    nothing: { state: "ENABLED", variants: { nul: null }, defaultVariant: "nul" },
    large: { state: "ENABLED", variants: { l: { text: "x".repeat(20_000) } }, defaultVariant: "l" },
  },
};

interface Served {
  readonly world: World;
  readonly port: number;
  /** Paths that were answered without node's server. */
  readonly taken: string[];
}

async function serve(isFast: boolean): Promise<Served> {
  const world = createWorld({ documents: [document], contextFromHeader: { "X-Color": "color" } });
  const taken: string[] = [];
  const shared = {
    ...world,
    answers: new OfrepAnswers(world),
    web: {
      ...world,
      cors: createCors([]),
      longRequests: new LongRequestQueue(),
      maxRequestBodyBytes: 200,
    },
  };
  const handler = wholeOfrepRequests({ ...shared, contextHeaders: ["X-Color"] });
  const wholeRequests = {
    ...handler,
    answer: (...[request]: Parameters<typeof handler.answer>) => {
      const answer = handler.answer(request);
      if (answer !== undefined) taken.push(request.target);
      return answer;
    },
  };
  const { port } = await listen([], createOfrepListener(shared), isFast ? { wholeRequests } : {});
  return { world, port, taken };
}

/** The answer as it comes, and what was counted. */
async function exchange(
  { port, world }: Served,
  request: string,
): Promise<{ answer: string; counted: unknown }> {
  const before = world.metrics.calls.length;
  const socket = createConnection({ port, host: "127.0.0.1", allowHalfOpen: true });
  let answer = "";
  socket.on("data", (chunk: Buffer) => (answer += chunk.toString()));
  socket.end(request);
  await once(socket, "close");
  return { answer: answer.replace(/^Date: .*$/m, "Date: …"), counted: world.metrics.calls.slice(before) };
}

const post = (path: string, body: string, headers = ""): string =>
  `POST ${path} HTTP/1.1\r\nHost: flags:8016\r\n${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

describe("whole requests of OFREP", () => {
  releaseAfterEach();

  for (const [what, request, isTaken] of [
    ["for a flag", post(`${bulk}/on`, "{}"), true],
    ["without a body", post(`${bulk}/on`, ""), true],
    ["with a context", post(`${bulk}/targeted`, '{"context":{"color":"blue"}}'), true],
    ["with a header for the context", post(`${bulk}/targeted`, "{}", "x-COLOR: blue\r\n"), true],
    ["with an empty one", post(`${bulk}/targeted`, "{}", "x-color:\r\n"), true],
    ["with a selector", post(`${bulk}/on`, "{}", "Flagd-Selector: source=source-0\r\n"), true],
    ["with an invalid selector", post(`${bulk}/on`, "{}", "flagd-selector: color=red\r\n"), true],
    ["with an invalid context", post(`${bulk}/on`, "{"), true],
    ["for a flag whose name has to be escaped", post(`${bulk}/na%C3%AFve%20key`, "{}"), true],
    ["for a flag that does not exist", post(`${bulk}/nowhere`, "{}"), true],
    ["for a variant that is null", post(`${bulk}/nothing`, "{}"), true],
    ["for a large answer", post(`${bulk}/large`, "{}"), true],
    ["for all flags", post(bulk, "{}"), false],
    ["for the stream of events", post("/ofrep/v1/sse", "{}"), false],
    ["for another path", post("/", "{}"), false],
    ["for a path that is redirected", post(`${bulk}//on`, "{}"), false],
    ["for a malformed path", post(`${bulk}/%zz`, "{}"), false],
    ["from a browser", post(`${bulk}/on`, "{}", "Origin: http://a\r\n"), false],
    ["with a body beyond the limit", post(`${bulk}/on`, `"${"x".repeat(200)}"`), false],
    ["by another method", `PUT ${bulk}/on HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n`, false],
    ["that end their connection", post(`${bulk}/on`, "{}", "Connection: close\r\n"), false],
  ] as const)
    it(`${what} are answered and counted ${isTaken ? "without" : "by"} node's server, and as by it`, async () => {
      const [fast, slow] = [await serve(true), await serve(false)];
      const [one, other] = [await exchange(fast, request), await exchange(slow, request)];
      expect(one.answer).to.match(/^HTTP\/1\.1 \d/);
      expect(one).to.deep.equal(other);
      expect(fast.taken.length).to.equal(isTaken ? 1 : 0);
    });
});
