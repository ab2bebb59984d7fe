import { expect } from "chai";
import { AttackedAgent, push } from "./support/attacked-agent.js";

/** Opens a stream of events. */
const stream =
  "POST /flagd.evaluation.v1.Service/EventStream HTTP/1.1\r\nhost: a\r\ncontent-type: application/connect+json\r\ncontent-length: 7\r\n\r\n\0\0\0\0\x02{}";

/** Bare node answers a probe among them after 3 s; the agent did after 3.7 s. packages/rpc counts the requests of a turn in its tests. */
describe("an agent whose peers send thousands of small requests ahead of their answers", () => {
  let agent: AttackedAgent;
  beforeEach(async () => {
    agent = await AttackedAgent.start();
  });
  afterEach(() => agent.stop());

  it("answers probes in between", async () => {
    const request = `POST /ofrep/v1/evaluate/flags/no${"x".repeat(200)} HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}`;
    const untilMs = performance.now() + 5_000;
    const attack = async (): Promise<void> => {
      let socket = await agent.connect("ofrep", "127.0.0.2");
      socket.resume();
      while (performance.now() < untilMs) {
        if (socket.destroyed) (socket = await agent.connect("ofrep", "127.0.0.2")).resume();
        for (let sent = 0; sent < 20; sent++) await push(socket, request);
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
      socket.destroy();
    };
    const attacks = Promise.all(Array.from({ length: 8 }, attack));
    while (performance.now() < untilMs) {
      expect((await fetch(agent.url("management", "/healthz"))).status).to.equal(200);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    await attacks;
    await agent.isWell();
  });

  for (const [what, request] of [
    ["without a Host header", "GET / HTTP/1.1\r\n\r\n"],
    ["with an expectation that can't be met", "GET / HTTP/1.1\r\nhost: a\r\nexpect: x\r\n\r\n"],
  ] as const)
    it(`is not filled by requests ${what}, which node would answer by itself, behind an answer without end`, async () => {
      await Promise.all(
        Array.from({ length: 20 }, async () => {
          const socket = await agent.connect("evaluation");
          await push(socket, stream);
          for (let sent = 0; sent < 3 && !socket.destroyed; sent++) {
            await new Promise((resolve) => setTimeout(resolve, 50));
            await push(socket, request.repeat(65_536 / request.length));
          }
        }),
      );
      await agent.isWell();
    });

  it("is not filled by heads of hundreds of headers that wait behind an answer without end", async () => {
    const headers = Array.from({ length: 900 }, (_, index) => `h${index}: aaaaaaaa\r\n`).join("");
    const waiting = `GET /x HTTP/1.1\r\nhost: a\r\n${headers}\r\n`;
    await Promise.all(
      Array.from({ length: 200 }, async () => {
        const socket = await agent.connect("evaluation");
        await push(socket, stream);
        for (let sent = 0; sent < 31 && !socket.destroyed; sent++) {
          await new Promise((resolve) => setTimeout(resolve, 20));
          await push(socket, waiting);
        }
      }),
    );
    await agent.isWell();
  });
});
