import { once } from "node:events";
import { createServer, get, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { expect } from "chai";
import { eventually } from "@bunting/test/support/event-queue.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { StatusFeed } from "./status-feed.js";
import type { StatusView } from "./status-view.js";

describe("StatusFeed", () => {
  const clock = new ManualClock();
  let server: Server;
  let feed: StatusFeed;
  let reads = 0;
  let ballast = "";
  const responses: IncomingMessage[] = [];

  beforeEach(async () => {
    reads = 0;
    ballast = "";
    feed = new StatusFeed({
      clock,
      read: () => {
        reads++;
        const shown = [{ address: "10.1.2.3" }];
        const topics = [{ topic: "team-a/flags", readers: { shown: [{ name: "team-a/checkout" }] } }];
        return {
          overview: { reads, ballast },
          late: { total: 1, shown },
          topics: { total: 1, shown: topics },
          limits: { hit: [] },
        } as unknown as StatusView;
      },
    });
    server = createServer((request, response) => feed.open(request, response, request.url === "/inside"));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
  });
  afterEach(async () => {
    for (const response of responses.splice(0)) response.destroy();
    await eventually(() => feed.viewers === 0, "no viewer is left");
    server.closeAllConnections();
    server.close();
    expect(clock.pendingTimers, "timers without viewers").to.equal(0);
    clock.advance(60_000);
  });

  /** What a viewer has read. */
  async function open(path = "/inside"): Promise<{ response: IncomingMessage; text: () => string }> {
    const { port } = server.address() as AddressInfo;
    const [response] = (await once(get({ port, path, agent: false }), "response")) as [IncomingMessage];
    let text = "";
    response.on("error", () => undefined);
    response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
    responses.push(response);
    return { response, text: () => text };
  }

  const has = (viewer: { text: () => string }, pattern: RegExp): Promise<void> =>
    eventually(() => pattern.test(viewer.text()), `a viewer reads ${pattern.source}`);

  it("reads the status once a second for all viewers, and not at all without them", async () => {
    const viewers = [await open(), await open(), await open()];
    for (const viewer of viewers) await has(viewer, /event: overview\ndata: \{"reads":1/);
    clock.advance(999);
    expect(reads).to.equal(1);
    clock.advance(1);
    for (const viewer of viewers) await has(viewer, /"reads":2/);
    expect(reads).to.equal(2);
    for (const { response } of viewers) response.destroy();
    await eventually(() => feed.viewers === 0, "all viewers have left");
    clock.advance(60_000);
    expect(reads).to.equal(2);
  });

  it("reads no oftener for viewers that come and go", async () => {
    for (let index = 0; index < 20; index++) {
      const viewer = await open();
      await has(viewer, /"reads":1/);
      viewer.response.destroy();
      await eventually(() => feed.viewers === 0, "the viewer has left");
    }
    expect(reads).to.equal(1);
  });

  it("sends a section again only if it has changed", async () => {
    const viewer = await open();
    await has(viewer, /event: limits/);
    clock.advance(1_000);
    await has(viewer, /"reads":2/);
    expect(viewer.text().match(/event: limits/g)).to.have.lengthOf(1);
  });

  it("shows addresses only to viewers in the pod", async () => {
    const [inside, outside] = [await open("/inside"), await open("/outside")];
    await has(inside, /10\.1\.2\.3/);
    await has(outside, /"total":1/);
    await has(outside, /"topic":"team-a\/flags"/);
    expect(outside.text()).not.to.contain("10.1.2.3").and.not.contain("checkout");
    await has(inside, /team-a\/checkout/);
  });

  it("lets in whoever comes, in the place of the viewer that has been there longest", async () => {
    const first = await open();
    await has(first, /event: overview/);
    for (let index = 0; index < 32; index++) await open();
    await has(first, /event: crowded/);
    await eventually(() => first.response.complete, "its stream ends");
    expect(feed.viewers).to.equal(32);
  });

  it("ends a stream that has carried 128 KiB, however they are read: the viewer opens another", async () => {
    const viewer = await open();
    await has(viewer, /event: overview/);
    ballast = "x".repeat(50_000);
    for (let index = 0; index < 3; index++) {
      clock.advance(1_000);
      await has(viewer, new RegExp(`"reads":${reads}`));
    }
    clock.advance(1_000);
    await eventually(() => viewer.response.complete, "the stream ends");
    expect(viewer.text().length).to.be.within(128 * 1024, 200 * 1024);
  });

  it("drops a viewer that takes nothing for ten seconds", async () => {
    ballast = "x".repeat(16 * 1024 * 1024);
    const viewer = await open();
    viewer.response.pause();
    for (let second = 0; second < 12; second++) clock.advance(1_000);
    await eventually(() => feed.viewers === 0, "it is dropped");
    expect(reads).to.be.above(9);
  });
});
