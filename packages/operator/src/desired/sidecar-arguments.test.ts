import { featureFlagSourceDefaults } from "@bunting/featureflags/resources";
import { expect } from "chai";
import { sidecarArguments } from "./sidecar-arguments.js";

const element = { uri: "proxy:8015", provider: "grpc", selector: "core.openfeature.dev/shop/limits" };
const json = '[{"uri":"proxy:8015","provider":"grpc","selector":"core.openfeature.dev/shop/limits"}]';

describe("sidecarArguments", () => {
  const of = (spec: object) =>
    sidecarArguments({ ...featureFlagSourceDefaults, sources: [], ...spec }, [element]);

  it("are the open-feature-operator's, in its order", () => {
    expect(of({})).to.deep.equal([
      "start",
      "--management-port",
      "8014",
      "--port",
      "8013",
      "--sources",
      json,
      "--ofrep-port",
      "8016",
    ]);
    const all = {
      port: 1,
      managementPort: 2,
      ofrepPort: 3,
      debugLogging: true,
      otelCollectorUri: "collector:4317",
      contextValues: { tier: "gold", region: "eu", stage: "test" },
      headerToContextMappings: { "x-b": "b", "x-a": "a" },
      cors: ["https://b.example", "https://a.example"],
    };
    expect(of(all)).to.deep.equal([
      "start",
      ...["--management-port", "2", "--port", "1", "--sources", json, "--debug"],
      ...["--metrics-exporter", "otel", "--otel-collector-uri", "collector:4317"],
      ...["--context-value", "region=eu", "--context-value", "stage=test", "--context-value", "tier=gold"],
      ...["--context-from-header", "x-a=a", "--context-from-header", "x-b=b"],
      ...["--cors-origin", "https://b.example", "--cors-origin", "https://a.example"],
      ...["--ofrep-port", "3"],
    ]);
  });

  it("have nothing that flagd does not know, and nothing that would end the start", () => {
    const args = of({
      syncProviderArgs: ["a=b"],
      keepAliveMinTime: "30s",
      socketPath: "/run/of/s.sock",
      contextValues: { "": "a", " ": "b", "=x": "c", "{x": "d", "a,b": "e", ok: "e=f,g" },
    });
    expect(args.filter((argument) => argument.startsWith("--"))).to.deep.equal([
      "--management-port",
      "--port",
      "--sources",
      "--context-value",
      "--ofrep-port",
    ]);
    expect(args).to.include("ok=e=f,g");
  });
});
