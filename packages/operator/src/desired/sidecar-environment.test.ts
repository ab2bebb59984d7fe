import { featureFlagSourceDefaults } from "@bunting/featureflags/resources";
import { expect } from "chai";
import { prefixed, sidecarEnvironment } from "./sidecar-environment.js";

const of = (spec: object, applicationEnv: "connection" | "stock" = "connection", hasIdentity = false) =>
  sidecarEnvironment({ ...featureFlagSourceDefaults, sources: [], ...spec }, applicationEnv, hasIdentity);
const texts = (variables: readonly { readonly name: string; readonly value?: string }[]): readonly string[] =>
  variables.map(({ name, value }) => `${name}=${value}`);
const agents = ["BUNTING_CACHE_DIR=/var/cache/bunting", "BUNTING_START_WAIT=5s", "BUNTING_READY_AFTER=30s"];

describe("sidecarEnvironment", () => {
  it("gives the sidecar the open-feature-operator's variables in its order, then ours", () => {
    const { agent } = of({ envVars: [{ name: "A", value: "1" }], socketPath: "/run/of/s.sock" });
    expect(texts(agent)).to.deep.equal([
      "FLAGD_A=1",
      "FLAGD_MANAGEMENT_PORT=8014",
      "FLAGD_PORT=8013",
      "FLAGD_EVALUATOR=json",
      "FLAGD_LOG_FORMAT=json",
      "FLAGD_RESOLVER=rpc",
      "FLAGD_SOCKET_PATH=/run/of/s.sock",
      ...agents,
    ]);
  });

  it("gives applications what they need to connect, and not what may be the sidecar's credentials", () => {
    const spec = { port: 1, envVarPrefix: "MY", envVars: [{ name: "TOKEN", value: "secret" }] };
    expect(texts(of(spec).application)).to.deep.equal(["MY_RESOLVER=rpc", "MY_HOST=localhost", "MY_PORT=1"]);
    const withSocket = { ...spec, socketPath: "/run/of/s.sock" };
    expect(texts(of(withSocket).application)).to.include("MY_SOCKET_PATH=/run/of/s.sock");
  });

  it("gives applications what the open-feature-operator gives, if that is set", () => {
    const { application } = of({ envVars: [{ name: "A", value: "1" }] }, "stock");
    expect(texts(application)).to.deep.equal([
      "FLAGD_A=1",
      "FLAGD_MANAGEMENT_PORT=8014",
      "FLAGD_PORT=8013",
      "FLAGD_EVALUATOR=json",
      "FLAGD_LOG_FORMAT=json",
      "FLAGD_RESOLVER=rpc",
    ]);
  });

  it("names variables with the prefix, except those of cloud providers, and as they are without one", () => {
    expect(prefixed("FLAGD", "A")).to.equal("FLAGD_A");
    for (const name of ["AZURE_STORAGE_KEY", "AWS_REGION", "GOOGLE_APPLICATION_CREDENTIALS"])
      expect(prefixed("FLAGD", name)).to.equal(name);
    expect(prefixed("", "A")).to.equal("A");
  });

  it("tells the sidecar of its socket by flagd's own name, whatever the prefix is", () => {
    const { agent, application } = of({ envVarPrefix: "MY", socketPath: "/run/of/s.sock" });
    expect(texts(agent)).to.include.members([
      "MY_SOCKET_PATH=/run/of/s.sock",
      "FLAGD_SOCKET_PATH=/run/of/s.sock",
    ]);
    expect(texts(application)).to.not.include("FLAGD_SOCKET_PATH=/run/of/s.sock");
    expect(texts(of({ envVarPrefix: "MY" }).agent).join()).to.not.contain("SOCKET_PATH");
  });

  it("gives the sidecar its identity by files, if it has one", () => {
    expect(texts(of({}, "connection", true).agent)).to.include.members([
      "BUNTING_TOKEN_FILE=/var/run/secrets/bunting/token",
      "BUNTING_CA_FILE=/var/run/secrets/bunting/ca.crt",
    ]);
    expect(texts(of({}).agent).join()).to.not.contain("TOKEN_FILE");
  });

  it("gives settings that flagd's arguments may lack as variables", () => {
    const { agent } = of({ keepAliveMinTime: "1m30s", keepAlivePermitWithoutStream: false });
    expect(texts(agent)).to.include.members([
      "FLAGD_KEEP_ALIVE_MIN_TIME=1m30s",
      "FLAGD_KEEP_ALIVE_PERMIT_WITHOUT_STREAM=false",
    ]);
  });

  it("leaves out values with which the sidecar would not start, and says so", () => {
    const { agent, problems } = of({ keepAliveMinTime: "soon", logFormat: "xml" });
    expect(texts(agent).join()).to.not.match(/KEEP_ALIVE|xml/);
    expect(texts(agent)).to.include("FLAGD_LOG_FORMAT=json");
    expect(problems.map(({ message }) => message)).to.deep.equal([
      "logFormat: xml is left out: the sidecar would not start; write json or console",
      "keepAliveMinTime: soon is left out: the sidecar would not start; write a duration such as 30s",
    ]);
    expect(of({ keepAliveMinTime: "0" }).problems).to.deep.equal([]);
    expect(texts(of({ logFormat: "console" }).agent)).to.include("FLAGD_LOG_FORMAT=console");
  });

  it("has each variable once, with the value that Kubernetes would take: that of the last", () => {
    const envVars = [
      { name: "PORT", value: "tcp://10.0.0.1" },
      { name: "A", value: "1" },
      { name: "A", value: "2" },
    ];
    const names = texts(of({ envVars }, "stock").application);
    expect(names.filter((text) => /_(?:A|PORT)=/.test(text))).to.deep.equal([
      "FLAGD_A=2",
      "FLAGD_MANAGEMENT_PORT=8014",
      "FLAGD_PORT=8013",
    ]);
    const unprefixed = of({ envVarPrefix: "", envVars: [{ name: "BUNTING_START_WAIT", value: "9h" }] });
    expect(texts(unprefixed.agent)).to.not.include("BUNTING_START_WAIT=9h");
  });
});
