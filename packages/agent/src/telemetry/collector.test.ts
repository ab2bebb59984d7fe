import { expect } from "chai";
import { readOptions } from "@bunting/runtime";
import { telemetryOptions } from "../telemetry-options.js";
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
      ["collector:4317", "https://collector:4317"],
      ["[::1]:4317", "https://[::1]:4317"],
      ["https://collector", "https://collector"],
    ] as const) {
      const collector = collectorOf({ ...options, otelCollectorUri: uri });
      expect(collector && signalUrl(collector, "traces")).to.equal(url);
      expect(collector?.isSecure).to.equal(uri.startsWith("https"));
    }
  });

  it("is reached over gRPC at port 80 where that is its port", () => {
    for (const uri of ["collector:80", "http://collector:80"]) {
      const collector = collectorOf({ ...options, otelCollectorUri: uri });
      if (collector === undefined) throw new Error("there is no collector");
      // What the exporters make of it: gRPC goes to port 443 where they see none.
      expect(new URL(signalUrl(collector, "traces")).host, uri).to.equal("collector:80");
    }
  });

  it("is never reached in plaintext where there are certificates for it, over HTTP neither", () => {
    const otelProtocol = "http/protobuf";
    for (const uri of ["collector:4318/base/", "http://collector:4318/base"]) {
      const at = (files: object): string | undefined => {
        const collector = collectorOf({ ...options, otelProtocol, otelCollectorUri: uri, ...files });
        return collector && signalUrl(collector, "metrics");
      };
      expect(at({}), uri).to.equal("http://collector:4318/base/v1/metrics");
      expect(at({ otelCaPath: "ca.pem" }), uri).to.equal("https://collector:4318/base/v1/metrics");
    }
  });

  it("is spoken to in protobuf where a variable, meant for all of a cluster, says http/json", async () => {
    const env = { OTEL_EXPORTER_OTLP_PROTOCOL: "http/json" };
    const read = await readOptions(telemetryOptions, { argv: [], env, readsConfig: false });
    expect(read.options.otelProtocol).to.equal("http/protobuf");
  });

  it("is refused by its own name, not by that of its certificates, if it is no address", () => {
    for (const uri of [
      ...["localhost:4317x", "two words", "http://", ":4317"],
      ...["grpc://collector:4317", "unix:/c.sock", "unix:///c.sock", "dns:///collector:4317"],
    ]) {
      expect(() => collectorOf({ ...options, otelCollectorUri: uri }), uri).to.throw(
        `--otel-collector-uri "${uri}" is no address of a collector: write HOST:PORT`,
      );
    }
  });
});
