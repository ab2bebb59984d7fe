import { expect } from "chai";
import { dataFrame } from "../../bench/load/http2-frames.js";
import { AttackedAgent, push } from "./support/attacked-agent.js";
import { requestFrames } from "./support/hostile-peer.js";

const resolve = "/flagd.evaluation.v1.Service/ResolveBoolean";

describe("an agent whose peers send bodies and selectors that take more memory than they have bytes", () => {
  let agent: AttackedAgent;
  beforeEach(async () => (agent = await AttackedAgent.start()));
  afterEach(() => agent.stop());

  it("holds no more for a body in pieces of one byte than for one in large pieces, over HTTP/1.1", async () => {
    for (const [port, path] of [
      ["ofrep", "/ofrep/v1/evaluate/flags/on"],
      ["evaluation", resolve],
    ] as const) {
      const socket = await agent.connect(port);
      socket.resume();
      await push(
        socket,
        `POST ${path} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`,
      );
      const pieces = "1\r\nx\r\n".repeat(5_000);
      for (let sent = 0; sent < 500_000; sent += 5_000) await push(socket, pieces);
      await agent.isWell();
    }
  });

  it("holds no more for them over HTTP/2", async () => {
    const pieces = (id: number): Buffer =>
      Buffer.concat(Array.from({ length: 500 }, () => dataFrame(id, Buffer.of(0x20), false)));
    for (let connection = 0; connection < 10; connection++) {
      const peer = await agent.peer("evaluation");
      const id = peer.takeStreamId();
      const headers = { "content-type": "application/json" };
      await peer.send(requestFrames(id, resolve, { headers, endsStream: false }));
      for (let sent = 0; sent < 30_000 && !peer.isClosed; sent += 500) await peer.send(pieces(id));
    }
    await agent.isWell();
  });

  it("does not keep selectors that are longer than any name", async () => {
    const [selectors, selectorBytes] = [160, 500_000];
    for (let index = 0; index < selectors; index++) {
      const response = await fetch(agent.url("ofrep", "/ofrep/v1/evaluate/flags/on"), {
        method: "POST",
        body: "{}",
        headers: { "flagd-selector": `source=${index}${"x".repeat(selectorBytes)}`, connection: "close" },
      });
      expect(response.status).to.equal(404);
      await response.text();
    }
    await agent.isWell(selectors * selectorBytes);
  });
});
