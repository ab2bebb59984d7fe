import { freePort } from "@bunting/test/support/free-port.js";
import { agentBinary } from "./binaries.js";
import { ChildProcess } from "./child-process.js";
import { untilReady } from "./wait.js";

export interface StartedAgent {
  readonly process: ChildProcess;
  readonly grpcPort: number;
  readonly ofrepPort: number;
  untilReady(): Promise<void>;
}

/** Starts the shipped agent on free ports; `args` name its sources. It need not be ready yet. */
export async function startAgent(args: readonly string[], core: number | undefined): Promise<StartedAgent> {
  const [grpcPort, managementPort, syncPort, ofrepPort] = [
    await freePort(),
    await freePort(),
    await freePort(),
    await freePort(),
  ];
  const ports = {
    "--port": grpcPort,
    "--management-port": managementPort,
    "--sync-port": syncPort,
    "--ofrep-port": ofrepPort,
  };
  const process = new ChildProcess({
    name: "bunting-agent",
    ...agentBinary(),
    hasChannel: false,
    args: ["start", ...args, ...Object.entries(ports).flatMap(([flag, port]) => [flag, String(port)])],
    core,
  });
  const ready = `http://127.0.0.1:${managementPort}/readyz`;
  return { process, grpcPort, ofrepPort, untilReady: () => untilReady(ready, () => process.assertRuns()) };
}
