import { once } from "node:events";
import { gzipSync } from "node:zlib";
import { expect } from "chai";
import { AttackedAgent, push } from "./support/attacked-agent.js";

const path = "/flagd.evaluation.v1.Service/ResolveBoolean";
const attackers = 20;
const evaluations = 10;

/** What unfolds to a megabyte or to as many values as a request may have. */
const bombs: Readonly<Record<string, string>> = {
  "many numbers": `{"flagKey":"on","context":{"a":[${"0,".repeat(99_000)}0]}}`,
  "many objects": `{"flagKey":"on","context":{"a":[${'{"b":1},'.repeat(49_000)}0]}}`,
  "many names": `{"flagKey":"on","context":{${Array.from({ length: 40_000 }, (_, at) => `"k${at}":1`).join(",")}}}`,
  "empty lists": `{"flagKey":"on","context":{"a":[${"[],".repeat(320_000)}0]}}`,
  "white space": " ".repeat(50_000_000),
};

describe("an agent whose peers send JSON that gzip made small", () => {
  let agent: AttackedAgent;
  beforeEach(async () => (agent = await AttackedAgent.start()));
  afterEach(() => agent.stop());

  const request = (body: Buffer, announcedBytes = body.length): Buffer => {
    const head = `POST ${path} HTTP/1.1\r\nhost: agent\r\ncontent-type: application/json\r\ncontent-encoding: gzip\r\ncontent-length: ${announcedBytes}\r\n\r\n`;
    return Buffer.concat([Buffer.from(head), body]);
  };

  for (const [what, json] of Object.entries(bombs)) {
    it(`answers an evaluation between few of others, and holds little of ${what}`, async () => {
      const bomb = request(gzipSync(json));
      let answers = 0;
      const sockets = await Promise.all(Array.from({ length: attackers }, () => agent.connect("evaluation")));
      for (const socket of sockets) {
        socket.on("data", () => {
          answers++;
          socket.write(bomb);
        });
        await push(socket.resume(), bomb);
      }
      const honest = await agent.connect("ofrep");
      honest.resume();
      let answersBetween = 0;
      for (let index = 0; index < evaluations; index++) {
        const before = answers;
        const answer = once(honest, "data");
        honest.write(
          "POST /ofrep/v1/evaluate/flags/on HTTP/1.1\r\nhost: agent\r\ncontent-length: 2\r\n\r\n{}",
        );
        const [text] = (await answer) as [Buffer];
        expect(text.toString()).to.contain("200 OK");
        answersBetween += answers - before;
      }
      // Whenever these tests wait for the processor, all that others were answered meanwhile counts.
      expect(answersBetween, "answers to others in between").to.be.below((evaluations * attackers) / 2);
      for (const socket of sockets) socket.destroy();
      await agent.isWell();
    });
  }

  it("holds few that do not arrive whole, and answers others", async () => {
    const part = Buffer.alloc(700_000, 1);
    for (let index = 0; index < 120; index++)
      await push(await agent.connect("evaluation"), request(part, 990_000));
    await agent.isWell(120 * part.length);
    // Not all at once: a hundred calls of one connection hold more than one of the attackers does, and the greediest is ended first.
    for (let round = 0; round < 10; round++) expect(await agent.failuresOf(10)).to.equal(0);
  });
});
