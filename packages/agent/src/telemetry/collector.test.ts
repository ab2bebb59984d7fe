import { expect } from "chai";
import { collectorOf, signalUrl } from "./collector.js";

const options = {
  metricsExporter: "",
  otelCollectorUri: "",
  otelCertPath: "",
  otelKeyPath: "",
  otelCaPath: "",
  otelReloadInterval: 0,
  otelProtocol: "grpc",
} as const;

describe("the collector that the options name", () => {
  it("is reached at a host and port, or at a URL", () => {
    for (const [uri, url] of [
      ["collector:4317", "http://collector:4317"],
      ["[::1]:4317", "http://[::1]:4317"],
      ["https://collector", "https://collector"],
    ] as const) {
      const collector = collectorOf({ ...options, otelCollectorUri: uri });
      expect(collector && signalUrl(collector, "traces")).to.equal(url);
    }
  });

  it("is refused by its own name, not by that of its certificates, if it is no address", () => {
    for (const uri of ["localhost:4317x", "two words", "http://", ":4317"]) {
      expect(() => collectorOf({ ...options, otelCollectorUri: uri }), uri).to.throw(
        `--otel-collector-uri "${uri}" is no address of a collector: write HOST:PORT`,
      );
    }
  });
});
