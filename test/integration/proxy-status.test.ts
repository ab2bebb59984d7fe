import { expect } from "chai";
import type { StatusReport } from "@bunting/proxy/internal/management/status-report.js";
import { eventually } from "../support/event-queue.js";
import { manifest } from "../support/manifests.js";
import { startProxy, type ProxyProcess } from "../support/proxy-process.js";
import { StockSyncClient } from "../support/stock-sync-client.js";
import { TempDirectory } from "../support/temp-directory.js";

describe("/status of the proxy", () => {
  let directory: TempDirectory;
  let proxy: ProxyProcess;
  let client: StockSyncClient;
  beforeEach(async () => {
    directory = new TempDirectory();
    directory.replace("a.yaml", manifest("a", 1));
    proxy = await startProxy(directory.path);
    client = new StockSyncClient(proxy.sync);
  });
  afterEach(async () => {
    client.close();
    await proxy.process.stop("SIGKILL");
    directory.remove();
  });

  async function status(): Promise<StatusReport> {
    return (await (await fetch(`${proxy.management}/status`)).json()) as StatusReport;
  }

  it("tells topics, versions and how many of their subscribers have them, and no flags", async () => {
    const readers = Array.from({ length: 4 }, () => client.subscribe({ selector: "default/a" }));
    for (const { messages } of readers) await messages.nextEvent();
    client.subscribe({ selector: "default/none" });
    directory.replace("a.yaml", manifest("a", 2));
    const haveIt = async (): Promise<boolean> => {
      const { newest } = (await status()).topics[0] ?? {};
      return newest?.sequence === 2 && newest.arrived === 4;
    };
    await eventually(haveIt, "all four have the edit");
    const { topics, subscribers, behind, connections, isReady } = await status();
    expect({ subscribers, behind, connections, isReady }).to.deep.equal({
      subscribers: 5,
      behind: 0,
      connections: 1,
      isReady: true,
    });
    const [a, none] = topics;
    expect(a).to.include({ topic: "default/a", state: "live", subscribers: 4 });
    expect(a?.newest).to.include({ sequence: 2, flags: 1, arrived: 4, behind: 0 });
    expect(a?.newest?.afterMs).to.have.all.keys("50", "99", "100");
    expect(none).to.deep.equal({ topic: "default/none", state: "missing", subscribers: 1 });
    expect(JSON.stringify(topics)).not.to.contain("variants");
    await proxy.process.nextLog("a version has reached all its subscribers");
  });
});
