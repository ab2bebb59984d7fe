import { expect } from "chai";
import { coloursFor } from "../terminal/colours.js";
import { asProxyStatus } from "./proxy-status.js";
import { statusLines } from "./status-lines.js";

describe("The lines of bunting status", () => {
  it("say why a proxy is not ready, or is although something is missing, and of one that is just that", () => {
    const line = (isReady: boolean, reason: string): string | undefined =>
      statusLines(
        "host:8016",
        asProxyStatus({ version: "1", isReady, reason, uptimeSeconds: 22, topics: [] }),
        coloursFor(false, {}),
      )[0];
    expect(line(true, "ready")).to.equal("host:8016: bunting-proxy 1, ready, up 22 s");
    expect(line(true, "ready, though the source is away")).to.contain(
      "1, ready, though the source is away, up",
    );
    expect(line(false, "draining")).to.contain("1, not ready (draining), up");
  });

  it("have the reasons of stale topics below the table, each once", () => {
    const away = "there is no connection to the upstream flags.example:8015; check the address";
    const topics = [
      { topic: "demo/a", state: "stale", staleReason: away },
      { topic: "demo/b", state: "live" },
      { topic: "demo/c", state: "stale", staleReason: away },
      { topic: "demo/d", state: "stale", staleReason: "its file is invalid" },
    ];
    const lines = statusLines("host:8016", asProxyStatus({ topics }), coloursFor(false, {}));
    expect(lines.slice(3)).to.deep.equal([
      "TOPIC   STATE  VERSION  FLAGS  BYTES  AGE  SUBSCRIBERS  BEHIND  50/99/100 % AFTER",
      "demo/a  stale                                        0",
      "demo/b  live                                         0",
      "demo/c  stale                                        0",
      "demo/d  stale                                        0",
      `demo/a and 1 more topic are stale: ${away}`,
      "demo/d is stale: its file is invalid",
    ]);
  });
});
