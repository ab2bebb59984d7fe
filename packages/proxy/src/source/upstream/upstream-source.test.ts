import type { ServerHttp2Stream } from "node:http2";
import { createLogger, systemClock } from "@bunting/runtime";
import { eventually } from "@bunting/test/support/event-queue.js";
import {
  encode,
  HostileSyncServer,
  onSubscribe,
  open,
  snapshot,
} from "@bunting/test/support/hostile-sync-server.js";
import { expect } from "chai";
import { noMetrics } from "../../proxy-metrics.js";
import { RecordingSink } from "../source.fixture.js";
import { TierPath } from "./tier-path.js";
import { UpstreamSource } from "./upstream-source.js";

describe("UpstreamSource", () => {
  const cleanUps: (() => unknown)[] = [];
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  });

  /** A proxy that serves flags that name it, and says which topics it was asked for. */
  async function startUpstream(name: string) {
    const asked: string[] = [];
    let accept = (): void => undefined;
    const isAccepting = new Promise<void>((resolve) => (accept = resolve));
    const serve = async (stream: ServerHttp2Stream): Promise<void> => {
      stream.on("error", () => undefined);
      open(stream);
      await isAccepting;
      stream.write(encode({ $case: "tier", value: { proxies: [name], depth: 1 } }));
      onSubscribe(stream, ({ topic }) => {
        asked.push(topic);
        stream.write(snapshot(topic, { [name]: { state: "ENABLED" } }));
      });
    };
    const server = new HostileSyncServer((stream) => void serve(stream));
    cleanUps.push(() => server.stop());
    return { target: await server.listen(), asked, accept };
  }

  it("asks the upstream with the longest prefix that fits, in whatever order they are named, and has synced once each has answered", async () => {
    const [all, europe] = [await startUpstream("all"), await startUpstream("europe")];
    const clock = systemClock;
    const source = new UpstreamSource({
      upstreams: [
        { prefix: "", targets: [all.target] },
        { prefix: "eu/", targets: [europe.target] },
      ],
      credentials: { isTls: false, certPath: "", clientCertPath: "", clientKeyPath: "", tokenFile: "" },
      tierPath: new TierPath(clock),
      context: {
        clock,
        logger: createLogger({ format: "json", debug: false }, { write: () => undefined }),
        metrics: noMetrics,
      },
    });
    const stopping = new AbortController();
    const running = source.run(stopping.signal);
    cleanUps.push(() => {
      stopping.abort();
      return running;
    });
    const [near, far] = [new RecordingSink(), new RecordingSink()];
    source.watch("demo/flags", near, stopping.signal);
    source.watch("eu/demo/flags", far, stopping.signal);
    all.accept();
    await eventually(() => near.lastText !== undefined, "the flags of the one");
    expect(source.hasSynced).to.equal(false);
    europe.accept();
    await eventually(() => far.lastText !== undefined, "the flags of the other");
    expect(source.hasSynced).to.equal(true);
    expect([near.lastText, far.lastText]).to.deep.equal([
      '{"flags":{"all":{"state":"ENABLED"}}}',
      '{"flags":{"europe":{"state":"ENABLED"}}}',
    ]);
    expect([all.asked, europe.asked]).to.deep.equal([["demo/flags"], ["demo/flags"]]);
  });
});
