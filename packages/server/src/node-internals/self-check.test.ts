import { once } from "node:events";
import { createServer } from "node:net";
import { recordingLogger } from "@bunting/test/support/grpc-port.js";
import { expect } from "chai";
import { clientParts } from "./client-parts.fixture.js";
import { httpParts } from "./http-parts.js";
import { httpProofs } from "./http-proofs.fixture.js";
import { failedProofs, type NodeProof } from "./node-proof.fixture.js";
import { missingAtStart, warnOf } from "./self-check.js";
import { socketParts } from "./socket-parts.fixture.js";

/** What newer versions of node are known to lack; the limits are said there, and the processes warn of them at their start. */
const knownMissing: Readonly<Record<string, readonly string[]>> = { 26: ["drop-body"] };
const missingHere = knownMissing[process.versions.node.split(".")[0] ?? ""] ?? [];

describe(`node's internals on ${process.version}`, () => {
  for (const part of [...httpProofs, ...socketParts, ...clientParts]) {
    const isKnownMissing = missingHere.includes(part.name);
    it(`${isKnownMissing ? "lack" : "have"} ${part.name}: without it, ${part.limit}`, async () => {
      expect(await failedProofs([part])).to.deep.equal(isKnownMissing ? [part] : []);
    });
  }

  it("are warned of with the limit that is off, and not where all of them are there", async () => {
    const logger = recordingLogger();
    // A server that does not listen has no handle.
    const missing = missingAtStart(createServer(), [
      ...httpParts,
      { name: "some-part", limit: "nothing is limited", isThere: () => false },
    ]);
    for (const part of missing) warnOf(part, logger);
    expect(missing.map(({ name }) => name)).to.deep.equal([...missingHere, "some-part", "socket-handle"]);
    expect(logger.lines).to.have.length(missing.length);
    expect(logger.lines.at(-1)).to.deep.include({
      level: "warn",
      fields: { node: process.version, part: "socket-handle" },
    });
    expect(logger.lines.at(-1)?.message).to.match(/lacks .*: peers are read beyond their share/);
    const listening = createServer().listen(0, "127.0.0.1");
    await once(listening, "listening");
    expect(missingAtStart(listening).map(({ name }) => name)).to.deep.equal(missingHere);
    listening.close();
  });

  it("are missing where they do something else, or throw", async () => {
    const part = (name: string, works: NodeProof["works"]): NodeProof => ({ name, limit: "none", works });
    const missing = await failedProofs([
      part("there", () => true),
      part("another", () => Promise.resolve(false)),
      part("gone", () => {
        throw new Error("gone");
      }),
    ]);
    expect(missing.map(({ name }) => name)).to.deep.equal(["another", "gone"]);
  });
});
