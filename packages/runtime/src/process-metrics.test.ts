import { execFileSync } from "node:child_process";
import path from "node:path";
import { expect } from "chai";
import { createRegistry } from "./metrics.js";
import { buildInfo, processMetrics } from "./process-metrics.js";

/** What only an observer and a timer can measure. */
const notRead = /^nodejs_(gc_|eventloop_lag_\w+_seconds$)|^nodejs_active_(handles|requests)/;

describe("processMetrics", () => {
  async function namesOf(registry: ReturnType<typeof createRegistry>): Promise<string[]> {
    return (await registry.getMetricsAsJSON()).map(({ name }) => name);
  }

  it("has the names of prom-client's own, but for what has to be observed all the time", async () => {
    const registry = createRegistry(false);
    processMetrics(registry);
    const wanted = (await namesOf(createRegistry(true))).filter((name) => !notRead.test(name));
    expect(await namesOf(registry)).to.have.members(wanted);
  });

  it("reads what the process has at the time", async () => {
    const registry = createRegistry(false);
    processMetrics(registry);
    buildInfo(registry, "a_build_info", "1.2.3");
    const text = await registry.metrics();
    const valueOf = (name: string): number => Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]);
    expect(valueOf("process_cpu_seconds_total")).to.be.greaterThan(0);
    expect(valueOf("process_resident_memory_bytes")).to.be.within(10e6, process.memoryUsage.rss() * 2);
    expect(valueOf("process_open_fds")).to.be.within(3, valueOf("process_max_fds"));
    expect(valueOf("process_virtual_memory_bytes")).to.be.greaterThan(
      valueOf("process_resident_memory_bytes"),
    );
    expect(valueOf("nodejs_heap_size_used_bytes")).to.be.below(valueOf("nodejs_heap_size_total_bytes"));
    expect(Math.abs(valueOf("process_start_time_seconds") - performance.timeOrigin / 1_000)).to.be.below(2);
    expect(text).to.match(/^nodejs_heap_space_size_used_bytes\{space="old"\} \d+$/m);
    expect(text).to.contain(`nodejs_version_info{version="${process.version}",major="`);
    expect(text).to.contain(`a_build_info{version="1.2.3",nodejs="${process.version}"} 1`);
  });

  it("says that all descriptors are open when there is none left to look with", () => {
    const child = path.join(import.meta.dirname, "process-metrics.child.ts");
    const node = [process.execPath, "--conditions=@bunting/source", "--import=tsx", child];
    const text = execFileSync("sh", ["-c", 'ulimit -n 200; exec "$@"', "sh", ...node], { encoding: "utf8" });
    expect(text)
      .to.match(/^process_open_fds 200$/m)
      .and.to.match(/^process_max_fds 200$/m);
  });
});
