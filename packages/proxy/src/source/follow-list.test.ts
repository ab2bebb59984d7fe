import { checkOptions } from "@bunting/backplane";
import { freePort } from "@bunting/test/support/free-port.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { ScriptedSource } from "@bunting/test/support/scripted-source.js";
import { TempDirectory } from "@bunting/test/support/temp-directory.js";
import { expect } from "chai";
import { fast } from "./backplane/backplane.fixture.js";
import type { FlagSource, SourceFlags } from "./flag-source.js";
import { RemoteCluster, RemoteReplica, ScriptedRemotes } from "./remote/remote.fixture.js";
import { RoutedSource } from "./routed-source.js";

const name = { namespace: "shop", text: "app" };

describe("the list of a FeatureFlagSource", () => {
  let directory: TempDirectory;
  let replica: RemoteReplica;
  let source: FlagSource;
  beforeEach(async () => {
    const clock = new ManualClock();
    directory = new TempDirectory();
    replica = new RemoteReplica({
      clock,
      cluster: new RemoteCluster(),
      remotes: new ScriptedRemotes(clock),
      cacheDir: directory.path,
      // Nobody listens there.
      backplane: checkOptions({ address: `redis://127.0.0.1:${await freePort()}`, ...fast }),
    });
    source = new RoutedSource(replica.source, new ScriptedSource(clock));
  });
  afterEach(async () => {
    await replica.stop();
    directory.remove();
  });

  it("is followed through all stages before topics", () => {
    const peer = { remoteAddress: "10.0.0.1" };
    const told: SourceFlags[] = [];
    const ended: string[] = [];
    const followList: FlagSource["followList"] = (asked, listener, by) => {
      expect([asked, by]).to.deep.equal([name, peer]);
      listener({ topics: ["shop/a"], frame: "f1" });
      return () => ended.push(asked.text);
    };
    Object.assign(replica.cluster, { followList });
    const end = source.followList?.(name, (flags) => told.push(flags), peer);
    expect(told).to.deep.equal([{ topics: ["shop/a"], frame: "f1" }]);
    end?.();
    expect(ended).to.deep.equal(["app"]);
  });

  it("is told by none of them where flags do not come from a cluster", () => {
    source.followList?.(name, () => expect.fail("a list was told"))();
  });
});
