import { binaries, proxyImage, ServiceProcess, type LogLine } from "./service-process.js";

export interface ProxyAddresses {
  readonly sync: string;
  readonly management: string;
}

export interface ProxyProcess extends ProxyAddresses {
  readonly process: ServiceProcess;
}

/*
 * All of them stop at once, unless the test asks for a drain: the defaults of the options would cost each stop three seconds and more.
 */

/** A real bunting-proxy on a directory and free ports. */
export function startProxy(
  directory: string,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<ProxyProcess> {
  return start(["--source", `dir:${directory}`, ...args], env);
}

/** A real bunting-proxy on any source, as `--source` names it, and free ports. */
export function startProxyOn(
  source: string,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
  wrapper: readonly string[] = [],
  binary?: string,
): Promise<ProxyProcess> {
  return start(["--source", source, ...args], env, wrapper, binary);
}

/** A real bunting-proxy that believes it is in a pod: without a source, it serves the cluster. */
export function startProxyInPod(
  pod: { readonly directory: string; readonly environment: Readonly<Record<string, string>> },
  args: readonly string[] = [],
  options: { readonly binary?: string | undefined; readonly wrapper?: readonly string[] } = {},
): Promise<ProxyProcess> {
  const ours = ["--service-account-directory", pod.directory, ...args];
  return start(ours, pod.environment, options.wrapper, options.binary);
}

async function start(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  wrapper: readonly string[] = [],
  binary = binaries.proxy,
): Promise<ProxyProcess> {
  const ours = ["start", "--host", "127.0.0.1", "--port", "0", "--management-port", "0"];
  const quickDrain = ["--drain-delay", "0", "--drain-window", "0"];
  const process = new ServiceProcess(binary, {
    args: [...ours, ...quickDrain, ...args],
    env,
    wrapper,
    image: proxyImage,
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

/** The sync port of a proxy. */
export function portOf({ sync }: Pick<ProxyProcess, "sync">): number {
  return Number(sync.slice(sync.lastIndexOf(":") + 1));
}
