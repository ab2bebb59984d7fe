import { KubeError } from "@bunting/kube";
import { ProtocolError } from "@bunting/protocol";
import { createLogger } from "@bunting/runtime";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { CountingMetrics } from "../source.fixture.js";
import { KubernetesLog } from "./kubernetes-log.js";
import type { WatchScope } from "./plan-watches.js";

describe("KubernetesLog", () => {
  function reasonFor(watchScope: WatchScope): string {
    const lines: string[] = [];
    const logger = createLogger({ format: "json", debug: false }, { write: (line) => void lines.push(line) });
    const clock = new ManualClock();
    const log = new KubernetesLog(logger, new CountingMetrics(), clock, watchScope);
    log.failed(new KubeError("FORBIDDEN", "featureflags is forbidden"), () => ({ refused: 1, others: 0 }));
    clock.advance(5_000);
    expect(lines).to.have.length(1);
    return (JSON.parse(lines[0] ?? "") as { reason: string }).reason;
  }

  it("says what to allow, or what else to choose, where a fixed watch scope is refused", () => {
    const allow = "featureflags is forbidden; allow this user to get, list and watch featureflags";
    expect(reasonFor("auto")).to.equal(allow);
    expect(reasonFor("namespace")).to.contain(
      `${allow} in whole namespaces, or start the proxy with --watch-scope=auto`,
    );
    expect(reasonFor("cluster")).to.contain(
      `${allow} in the whole cluster, or start the proxy with --watch-scope=auto`,
    );
  });

  it("logs what is wrong with a version once, however often a peer has it read", () => {
    const lines: string[] = [];
    const logger = createLogger({ format: "json", debug: false }, { write: (line) => void lines.push(line) });
    const metrics = new CountingMetrics();
    const log = new KubernetesLog(logger, metrics, new ManualClock(), "auto");
    const warning = { path: ["flags", "f"], message: "odd" };
    for (let i = 0; i < 3; i++) {
      log.warnings("demo/flags", "7", [warning]);
      log.refused("demo/flags", "7", new Error("a bug"));
      log.refused("demo/other", "7", new ProtocolError("DOCUMENT_INVALID", "no flags"));
    }
    expect(lines).to.have.length(3);
    log.refused("demo/other", "8", new ProtocolError("DOCUMENT_INVALID", "no flags"));
    expect(lines).to.have.length(4);
  });
});
