import { binaries, ServiceProcess, type LogLine } from "./service-process.js";

export interface ProxyAddresses {
  readonly sync: string;
  readonly management: string;
}

/** A real bunting-proxy on a directory and free ports. */
export async function startProxy(
  directory: string,
  args: readonly string[] = [],
): Promise<{ readonly process: ServiceProcess } & ProxyAddresses> {
  const process = new ServiceProcess(binaries.proxy, {
    args: [
      "start",
      "--host",
      "127.0.0.1",
      "--port",
      "0",
      "--management-port",
      "0",
      "--source",
      `dir:${directory}`,
      ...args,
    ],
  });
  const ports = new Map<string, number>();
  while (ports.size < 2) {
    const line: LogLine = await process.nextLog("listening");
    ports.set(line["service"] as string, line["port"] as number);
  }
  return {
    process,
    sync: `127.0.0.1:${ports.get("sync") ?? 0}`,
    management: `http://127.0.0.1:${ports.get("management") ?? 0}`,
  };
}
