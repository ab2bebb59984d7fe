import { eventually, patienceMs } from "../support/event-queue.js";
import { freePort } from "../support/free-port.js";
import { agentImage, binaries, ServiceProcess } from "../support/service-process.js";
import { TempDirectory } from "../support/temp-directory.js";
import { providerPrograms, type ProviderProbe } from "./providers/provider-probe.js";

/** Starts a provider whose event streams last that long. */
type StartProbe = (port: number, streamDeadlineMs: number) => ProviderProbe;

const flags = (variant: string): string =>
  JSON.stringify({
    flags: {
      colour: { state: "ENABLED", variants: { [variant]: variant }, defaultVariant: variant },
    },
  });

/** Providers cache answers of reason STATIC until an event names their flag. */
describe("providers that cache, unchanged", () => {
  const directory = new TempDirectory();
  after(() => directory.remove());

  for (const { name, prepare } of providerPrograms)
    describe(name, () => {
      let start: StartProbe;
      let agent: ServiceProcess;
      let provider: ProviderProbe | undefined;
      let port: number;
      let management: string;

      before(async function () {
        this.timeout(900_000);
        const prepared = await prepare();
        if (prepared === undefined) this.skip();
        start = prepared;
      });
      afterEach(async () => {
        provider?.stop();
        provider = undefined;
        await agent.stop();
      });

      async function startAgent(): Promise<void> {
        const others = ["--management-port", "0", "--sync-port", "0", "--ofrep-port", "0"];
        const source = ["--uri", `file:${directory.file("flags.json")}`];
        agent = new ServiceProcess(binaries.agent, {
          args: ["start", "--host", "127.0.0.1", "--port", String(port), ...others, ...source],
          image: agentImage,
        });
        const logged = await agent.nextLog("listening");
        management = `http://127.0.0.1:${String(logged["port"])}`;
      }

      /** The event streams that have ended so far. */
      const endedStreams = async (): Promise<number> => {
        const text = await (await fetch(`${management}/metrics`)).text();
        const counts = text.matchAll(
          /^rpc_server_requests_per_rpc_count\{[^}]*rpc_method="EventStream".* (\d+)$/gm,
        );
        return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
      };

      const answers = (value: string, what: string): Promise<void> =>
        eventually(async () => (await provider?.ask("colour"))?.value === value, what);

      it("answer what was edited while the agent restarted", async function () {
        this.timeout(3 * patienceMs);
        directory.replace("flags.json", flags("red"));
        port = await freePort();
        await startAgent();
        provider = start(port, 600_000);
        await provider.ready();
        await answers("red", "the flag");
        await eventually(async () => (await provider?.ask("colour"))?.reason === "CACHED", "its cache");
        await agent.stop();
        directory.replace("flags.json", flags("blue"));
        await startAgent();
        await answers("blue", "the edit");
      });

      it("answer each edit, also those between two of their streams", async function () {
        this.timeout(6 * patienceMs);
        directory.replace("flags.json", flags("edit-0"));
        port = await freePort();
        await startAgent();
        provider = start(port, 700);
        await provider.ready();
        await answers("edit-0", "the flag");
        for (let edit = 1; edit <= 3; edit++) {
          const ended = await endedStreams();
          await eventually(async () => (await endedStreams()) > ended, "the end of a stream");
          directory.replace("flags.json", flags(`edit-${edit}`));
          await answers(`edit-${edit}`, `edit ${edit}`);
        }
      });
    });
});
