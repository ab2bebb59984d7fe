import { agentImage, binaries, ServiceProcess, type ServiceProcessOptions } from "./service-process.js";

export interface AgentAddresses {
  readonly evaluation: string;
  readonly sync: string;
  readonly ofrep: string;
  readonly management: string;
}

export interface AgentProcess extends AgentAddresses {
  readonly process: ServiceProcess;
  readonly ports: ReadonlyMap<string, number>;
}

/**
 * A real bunting-agent, started as in its container, on free ports.
 */
export async function startAgent(
  args: readonly string[],
  options: Pick<ServiceProcessOptions, "directory" | "env" | "wrapper"> = {},
): Promise<AgentProcess> {
  const free = ["--port", "0", "--management-port", "0", "--sync-port", "0", "--ofrep-port", "0"];
  const process = new ServiceProcess(binaries.agent, {
    args: ["start", "--host", "127.0.0.1", ...free, ...args],
    image: agentImage,
    ...options,
  });
  const ports = new Map<string, number>();
  try {
    while (ports.size < 4) {
      const line = await process.nextLog("listening");
      ports.set(line["service"] as string, line["port"] as number);
    }
  } catch (error) {
    await process.stop("SIGKILL");
    throw error;
  }
  const at = (service: string): string => `127.0.0.1:${ports.get(service) ?? 0}`;
  return {
    process,
    ports,
    evaluation: at("evaluation"),
    sync: at("sync"),
    ofrep: `http://${at("ofrep")}`,
    management: `http://${at("management")}`,
  };
}

/** `--sources` with one source per selector, all of the same proxy. */
export function proxySources(proxy: string, ...selectors: readonly string[]): readonly string[] {
  return [
    "--sources",
    JSON.stringify(selectors.map((selector) => ({ uri: proxy, provider: "grpc", selector }))),
  ];
}

/** Resolves once /readyz answers 200. */
export async function isReady(management: string): Promise<boolean> {
  return (await fetch(`${management}/readyz`)).status === 200;
}
