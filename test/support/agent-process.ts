import { eventually } from "./event-queue.js";
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
  {
    binary = binaries.agent,
    ...options
  }: Pick<ServiceProcessOptions, "directory" | "env" | "wrapper"> & { readonly binary?: string } = {},
): Promise<AgentProcess> {
  const free = ["--port", "0", "--management-port", "0", "--sync-port", "0", "--ofrep-port", "0"];
  const process = new ServiceProcess(binary, {
    args: ["start", "--host", "127.0.0.1", ...free, ...args],
    image: agentImage,
    ...options,
  });
  // Not by taking lines: what a source says comes before its agent's ports are open, and tests ask for it afterwards.
  const portsNow = (): [string, number][] =>
    process.logs
      .filter(({ msg }) => msg === "listening")
      .map((line) => [line["service"] as string, line["port"] as number]);
  try {
    await eventually(() => portsNow().length === 4, "four ports");
  } catch (error) {
    await process.stop("SIGKILL");
    throw new Error(`${(error as Error).message}; it said:\n${process.output}`, { cause: error });
  }
  const ports = new Map(portsNow());
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
