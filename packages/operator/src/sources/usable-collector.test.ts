import { expect } from "chai";
import { withUsableCollector } from "./usable-collector.js";

describe("withUsableCollector", () => {
  for (const uri of [
    "otel.obs:4317",
    "http://otel.obs:4318",
    "https://otel.obs:4317",
    "[::1]:4317",
    "$(OTEL):4317",
  ])
    it(`keeps ${uri}`, () => {
      expect(withUsableCollector({ otelCollectorUri: uri })).to.deep.equal({
        spec: { otelCollectorUri: uri },
        problems: [],
      });
    });

  for (const uri of [
    "dns:///otel.obs:4317",
    "grpc://otel.obs:4317",
    "unix:/run/otel.sock",
    "otel obs:4317",
    "otel:http",
  ])
    it(`leaves out ${uri}, with which the sidecar would not start, and says so`, () => {
      expect(withUsableCollector({ otelCollectorUri: uri }).spec.otelCollectorUri).to.equal("");
      const [problem] = withUsableCollector({ otelCollectorUri: uri }).problems;
      expect(problem?.reason).to.equal("InvalidSetting");
      expect(problem?.message).to.contain(`otelCollectorUri: "${uri}" is left out`).and.contain("HOST:PORT");
    });

  it("leaves to flagd what flagd takes", () => {
    const spec = { otelCollectorUri: "dns:///otel.obs:4317" };
    expect(withUsableCollector(spec, { isFlagd: true })).to.deep.equal({ spec, problems: [] });
  });

  it("changes nothing where there is none", () => {
    for (const spec of [{}, { otelCollectorUri: "" }])
      expect(withUsableCollector(spec)).to.deep.equal({ spec, problems: [] });
  });
});
