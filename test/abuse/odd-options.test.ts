import { spawnSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { agentOptionTable } from "@bunting/agent/internal/options.js";
import { proxyOptionTable } from "@bunting/proxy";
import type { OptionSpec } from "@bunting/runtime";
import { isReady, startAgent } from "@bunting/test/support/agent-process.js";
import { eventually } from "@bunting/test/support/event-queue.js";
import { manifest } from "@bunting/test/support/manifests.js";
import { startProxy } from "@bunting/test/support/proxy-process.js";
import { agentImage, binaries, proxyImage, ServiceProcess } from "@bunting/test/support/service-process.js";
import { StockSyncClient } from "@bunting/test/support/stock-sync-client.js";
import { TempDirectory } from "@bunting/test/support/temp-directory.js";
import { expect } from "chai";

const quick = ["--drain-delay", "0", "--drain-window", "0"];

describe("odd options", () => {
  let directory: TempDirectory;
  beforeEach(() => {
    directory = new TempDirectory();
    directory.replace("flags.yaml", manifest("flags", 1));
  });
  afterEach(() => directory.remove());

  it("a grace that is longer than a timer of Node.js can be keeps the flags of a deleted FeatureFlag", async () => {
    const args = ["--deletion-grace=720h", "--deletion-policy=empty"];
    const { process, sync } = await startProxy(directory.path, [...quick, ...args]);
    const client = new StockSyncClient(sync);
    try {
      const stream = client.subscribe({ selector: "default/flags" });
      expect((await stream.messages.nextEvent("flags")).flags).to.have.property("on-off");
      rmSync(directory.file("flags.yaml"));
      await process.nextLog("a flag file is gone");
      // Another FeatureFlag takes longer to arrive than the timer that fired after 1 ms.
      directory.replace("more.yaml", manifest("more", 1));
      await client.subscribe({ selector: "default/more" }).messages.nextEvent("the other FeatureFlag");
      expect(stream.messages.size, "messages after the deletion").to.equal(0);
      expect(await client.fetchAll("default/flags")).to.contain("on-off");
    } finally {
      client.close();
      await process.stop();
    }
  });

  const refused: readonly [option: string, binary: string, sentence: string][] = [
    [
      "--keepalive-timeout=0",
      binaries.proxy,
      'expected a duration from 100ms to 1h, got "0"; use --keepalive-interval=0 to turn keepalive off',
    ],
    ["--ack-timeout=0", binaries.proxy, 'expected a duration from 100ms to 1h, got "0"; use a long time'],
    ["--stall-timeout=1ms", binaries.proxy, "from 100ms to 8760h, or 0"],
    ["--watch-timeout=0", binaries.proxy, "from 1s to 24h"],
    ["--deletion-grace=-1s", binaries.proxy, "from 0 to 8760h"],
    ["--drain-window=1000h", binaries.proxy, "from 0 to 1h"],
    ["--cache-size=1Gi", binaries.proxy, "--cache-size is given without --cache-dir"],
    ["--backplane-lease=2s", binaries.proxy, "--backplane-lease is given without --backplane"],
    ["--backplane-key-prefix=eu:", binaries.proxy, "--backplane-key-prefix is given without --backplane"],
    ["--remote-hosts=a b", binaries.agent, '--remote-hosts: "a b" is no host'],
    ["--stream-deadline=-5s", binaries.agent, "from 0 to 2562047h"],
    [
      '--sources=[{"uri":"a","provider":"constructor"}]',
      binaries.agent,
      'source 1 of --sources: there is no provider "constructor"; there are grpc, file, dir, http, kubernetes and remote',
    ],
    [
      `--sources=${JSON.stringify(Array.from({ length: 500 }, () => ({ uri: "proxy:8015", provider: "grpc" })))}`,
      binaries.agent,
      "500 sources need about 23.8 MB of heap beside their flags, and may take 15.0 MB; have fewer of them",
    ],
  ];
  for (const [given, binary, sentence] of refused) {
    it(`${given.slice(0, 100)} is refused with a sentence`, async () => {
      const ports = ["--port", "0", "--management-port", "0"];
      const source = binary === binaries.proxy ? ["--source", `dir:${directory.path}`, ...quick] : [];
      const image = binary === binaries.proxy ? proxyImage : agentImage;
      const service = new ServiceProcess(binary, { args: ["start", ...ports, ...source, given], image });
      const hasStarted = (): boolean => service.logs.some(({ msg }) => msg === "listening");
      await eventually(() => service.child.exitCode !== null || hasStarted(), "it starts or refuses to");
      expect(await service.stop("SIGKILL"), "exit code").to.equal(1);
      expect(service.output).to.contain(sentence).and.not.contain("    at ");
    });
  }

  for (const [service, table] of [
    ["proxy", proxyOptionTable],
    ["agent", agentOptionTable],
  ] as const) {
    it(`every duration and number of the ${service} has bounds, and says what 0 means where it is allowed`, () => {
      const options = Object.entries<OptionSpec<never> | OptionSpec<unknown>>(table).filter(([, { type }]) =>
        ["duration", "n", "port"].includes(type.placeholder),
      );
      expect(options.length).to.be.greaterThan(10);
      for (const [name, { type, describe: meaning }] of options) {
        const range = type.range ?? (type.placeholder === "port" ? "0 to 65535" : "");
        expect(range, name).to.match(/^-?[\da-z.]+ to [\da-z.]+(, or 0)?$/);
        if (/^0 |or 0$/.test(range)) expect(meaning, name).to.match(/\b0\b/);
      }
    });
  }

  it("a config is read from what a shell makes of <(command)", () => {
    const script = '"$0" "$1" start --config <(echo "port: none")';
    const { stderr } = spawnSync("bash", ["-c", script, process.execPath, binaries.agent], {
      encoding: "utf8",
    });
    expect(stderr).to.match(/"port" in the config file \/dev\/fd\/\d+: .*"none"/);
  });

  it("a file with a space in its name is one source", async () => {
    const flags = { flags: { "on-off": { state: "ENABLED", variants: { on: true }, defaultVariant: "on" } } };
    writeFileSync(directory.file("a b.json"), JSON.stringify(flags));
    const args = ["--uri", `file:${directory.file("a b.json")}`, "--stream-deadline=500us"];
    const agent = await startAgent(args);
    try {
      await eventually(() => isReady(agent.management), "the agent is ready");
    } finally {
      await agent.process.stop();
    }
  });
});
