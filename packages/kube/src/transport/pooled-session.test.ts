import { expect } from "chai";
import { eventually } from "@bunting/test/support/event-queue.js";
import { openSession } from "./open-session.js";
import { SecureDial } from "./secure-dial.js";
import { answerAll, clusterOf, ScriptedServer } from "./transport.fixture.js";
import { transportContext } from "./transport-options.js";

describe("PooledSession", () => {
  it("says that it is closing when node refuses a request outright, and gives the slot back", async () => {
    const server = await new ScriptedServer().start({ maxConcurrentStreams: 2 });
    server.answer = answerAll;
    const cluster = clusterOf(server);
    const dial = new SecureDial(cluster.server, cluster.tls);
    const session = await openSession(
      cluster.server,
      dial,
      transportContext(cluster.server, {}),
      new AbortController().signal,
    );
    try {
      if (session === undefined) throw new Error("the server speaks HTTP/2");
      const stream = session.open(session.reserve(), { ":path": "/x?watch" }, true);
      await server.next();
      const slot = session.reserve();
      expect([session.isUsable, session.hasRoom]).to.deep.equal([true, false]);
      let freed = 0;
      session.onRoom = () => freed++;
      [...server.sessions][0]?.goaway();
      await eventually(() => !session.isUsable, "the GOAWAY has come");
      expect(session.open(slot, { ":path": "/x" }, true)).to.equal(undefined);
      expect(freed).to.equal(1);
      expect(stream?.destroyed).to.equal(false);
    } finally {
      session?.destroy();
      await server.stop();
    }
  });
});
