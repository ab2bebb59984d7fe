import { expect } from "chai";
import { startAgent } from "../support/agent-process.js";
import { Authority } from "../support/certificates.js";
import { runBunting } from "../support/cli-process.js";
import { eventually } from "../support/event-queue.js";
import { itOnIpv6 } from "../support/ipv6.js";
import { manifest } from "../support/manifests.js";
import { portOf } from "../support/proxy-process.js";
import { agentImage, binaries, proxyImage, ServiceProcess } from "../support/service-process.js";
import { Tiers } from "../support/tiers.js";

const selector = "team-a/checkout";

describe("processes that have addresses of IPv6 only", function () {
  this.timeout(60_000);
  let tiers: Tiers;
  beforeEach(() => {
    tiers = new Tiers();
    tiers.directory.replace("checkout.yaml", manifest("checkout", 1, "team-a"));
  });
  afterEach(() => tiers.close());

  itOnIpv6(
    "are reached by these addresses, over TLS too: proxies, an agent, probes and commands",
    async () => {
      const authority = await Authority.create("ipv6");
      const { cert, key } = await authority.issue({ domains: ["::1"] });
      const file = (name: string, text: string): string => {
        tiers.directory.replace(name, text);
        return tiers.directory.file(name);
      };
      const ca = file("ca.pem", authority.cert);
      const tls = [
        "--tls=on",
        "--tls-cert-path",
        file("cert.pem", cert),
        "--tls-key-path",
        file("key.pem", key),
      ];
      const first = await tiers.root(["--host=::1", ...tls]);
      const upstream = `[::1]:${portOf(first)}`;
      const second = await tiers.tier(upstream, ["--host=::1", "--upstream-ca-file", ca, ...tls]);
      const proxy = `[::1]:${portOf(second)}`;
      const sources = JSON.stringify([{ uri: `grpcs://${proxy}`, provider: "grpc", selector }]);
      const agent = await startAgent(["--host=::1", "--ca-file", ca, "--sources", sources]);
      tiers.onClose(() => agent.process.stop("SIGKILL"));
      const at = (service: string): string => `[::1]:${agent.ports.get(service) ?? 0}`;

      const evaluate = async (): Promise<number> =>
        (await fetch(`http://${at("ofrep")}/ofrep/v1/evaluate/flags/on-off`, { method: "POST", body: "{}" }))
          .status;
      await eventually(async () => (await evaluate()) === 200, "the agent has the flags");
      const ports = { proxy: new URL(second.management).port, agent: String(agent.ports.get("management")) };
      // Without --host, as in a Pod, where no address of IPv4 answers; whatever is said to node for the sake of others.
      const env = { NODE_OPTIONS: "--no-network-family-autoselection" };
      for (const host of [["--host=::1"], []])
        for (const [service, image] of [
          ["proxy", proxyImage],
          ["agent", agentImage],
        ] as const) {
          const args = ["health", ...host, "--management-port", ports[service]];
          const health = new ServiceProcess(binaries[service], { image, args, env });
          expect(await health.exit, health.output).to.equal(0);
        }
      for (const args of [
        ["eval", `proxy://${proxy}/${selector}`, "on-off", "--ca-file", ca],
        ["eval", `agent://${at("ofrep")}`, "on-off"],
        ["status", "--address", `[::1]:${ports.proxy}`],
        ["tail", selector, "--limit=1", "--address", proxy, "--ca-file", ca],
      ])
        expect(await runBunting(args), args.join(" ")).to.include({ code: 0 });
    },
  );
});
